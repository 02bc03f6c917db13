// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A control of this folder as a plain program: it takes the events of one flow, and gives the windows.
 *
 *     cc -O2 -DFARSPAN_USER -DCONTROL=gemini -DCONTROL_FILE='"gemini.bpf.c"' -DREPLAY_GEMINI replay.c -o gemini
 *     ./gemini NAME=VALUE... < events > windows
 *
 * A parameter has the name of its field. Events, a line each, with times in us and in-flight in packets:
 *
 *     s SRTT MSS CWND                            the flow starts
 *     a NOW RTT ACKED MARKED IN_FLIGHT LIMITED   an ACK; RTT 0: of a retransmission
 *     l NOW                                      a loss was found
 *     t NOW IN_FLIGHT                            a time-out, with so much in flight before
 *     m NOW                                      the path's MTU has become smaller, and packets leave again
 *     o NOW                                      the losses are repaired
 *     u NOW                                      the last loss was none
 *     i IDLE RTO                                 the first packet after an idle time, in ticks
 *     d MARKED HELD                              a data packet came; HELD: an ACK is held back, by the timer
 *     k                                          an ACK leaves, for all that came
 *
 * After each event comes a line: the window in whole packets, and in 2^-32 packets; after d and k, how many packets ACKs acknowledged
 * so far without a mark and with one. At the end, for UnoCC: epochs, Quick Adapts.
 */
#include CONTROL_FILE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef REPLAY_GEMINI
typedef struct gemini_params params_type;
typedef struct gemini state_type;
#else
typedef struct unocc_params params_type;
typedef struct unocc state_type;
#endif

struct parameter {
	const char *name;
	size_t at, size;
};

#define PARAMETER(field) { #field, offsetof(params_type, field), sizeof(((params_type *)0)->field) }

static const struct parameter parameters[] = {
	PARAMETER(line_rate_bytes_per_s), PARAMETER(k_bytes), PARAMETER(base_rtt_us), PARAMETER(start_pkts),
	PARAMETER(min_cwnd_pkts), PARAMETER(max_cwnd_pkts), PARAMETER(beta_ppm), PARAMETER(gain_ppm),
#ifdef REPLAY_GEMINI
	PARAMETER(h_bits_per_pkt), PARAMETER(h_min_millipkts), PARAMETER(h_max_millipkts), PARAMETER(h_fixed_millipkts),
	PARAMETER(delay_threshold_us), PARAMETER(alpha_start_ppm), PARAMETER(cut_per_rtt_min), PARAMETER(restart_after_idle),
#else
	PARAMETER(intra_rtt_us), PARAMETER(base_rtt_floor_us), PARAMETER(tolerance_us), PARAMETER(alpha_ppm),
	PARAMETER(md_scale_ppm), PARAMETER(qa_factor_ppm),
#endif
};

static struct tcp_sock tp = {
	.snd_cwnd_clamp = ~0U,
	.snd_ssthresh = TCP_INFINITE_SSTHRESH,
	.ecn_flags = TCP_ECN_OK,
	.inet_conn.icsk_inet.sk.sk_max_pacing_rate = ~0UL,
};

static void set_parameter(const char *text)
{
	const char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : 0;

	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		const struct parameter *p = &parameters[i];

		if (length && strlen(p->name) == length && !strncmp(p->name, text, length)) {
			__u64 wide = strtoull(value + 1, NULL, 10);
			__u32 narrow = wide;

			memcpy((char *)&params + p->at, p->size == 8 ? (void *)&wide : (void *)&narrow, p->size);
			return;
		}
	}
	fprintf(stderr, "%s: no parameter of this control\n", text);
	exit(2);
}

static void on_ack(struct sock *sk, const unsigned long long *n)
{
	struct rate_sample rs = { .rtt_us = n[1] ? (long)n[1] : -1, .acked_sacked = n[2] };

	tp.tcp_mstamp = n[0];
	tp.packets_out = n[4];
	tp.is_cwnd_limited = n[5];
	CONTROL.cong_control(sk, 0, n[3] ? FLAG_ECE : 0, &rs);
}

/* What the kernel does when it finds a loss: it asks for the threshold, and notifies of the new state. */
static void on_state(struct sock *sk, unsigned long long now_us, __u8 state)
{
	tp.tcp_mstamp = now_us;
	tp.undo_marker = !!state;
	if (state) {
		tp.snd_ssthresh = CONTROL.ssthresh(sk);
		if (state == TCP_CA_LOSS)
			tp.snd_cwnd = 1;
	}
	CONTROL.set_state(sk, state);
}

/* Packets acknowledged without a mark, and with one. */
static __u32 echoed[2];

/* An ACK leaves: it speaks for what none spoke for before. */
long bpf_tcp_send_ack(void *to, __u32 rcv_nxt)
{
	static __u32 acked_to;

	echoed[!!(((struct tcp_sock *)to)->ecn_flags & TCP_ECN_DEMAND_CWR)] += rcv_nxt - acked_to;
	acked_to = rcv_nxt;
	tp.rcv_wup = tp.rcv_nxt;
	return 0;
}

/* A packet counts as one byte. The kernel moves rcv_nxt first, and forgets what is pending when an ACK for all leaves. */
static void on_data(struct sock *sk, const unsigned long long *n)
{
	tp.rcv_nxt++;
	CONTROL.cwnd_event(sk, n[0] ? CA_EVENT_ECN_IS_CE : CA_EVENT_ECN_NO_CE);
	if (n[1])
		tp.inet_conn.icsk_ack.pending |= ICSK_ACK_TIMER;
}

static int on_event(struct sock *sk, char kind, const unsigned long long *n)
{
	switch (kind) {
	case 's':
		tp.srtt_us = n[0] << 3;
		tp.mss_cache = n[1];
		tp.snd_cwnd = n[2];
		/* The kernel forgets what the handshake made of it (tcp_init_metrics). */
		tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
		CONTROL.init(sk);
		return 1;
	case 'a':
		on_ack(sk, n);
		return 1;
	case 'l':
		on_state(sk, n[0], TCP_CA_RECOVERY);
		return 1;
	case 't':
		tp.packets_out = n[1];
		on_state(sk, n[0], TCP_CA_LOSS);
		return 1;
	case 'm':
		tp.tcp_mstamp = n[0];
		tp.undo_marker = 0;
		CONTROL.set_state(sk, TCP_CA_LOSS);
		return 1;
	case 'o':
		on_state(sk, n[0], 0);
		return 1;
	case 'u':
		tp.tcp_mstamp = n[0];
		tp.snd_cwnd = CONTROL.undo_cwnd(sk);
		return 1;
	case 'i':
		tp.lsndtime = 1;
		user_jiffies = 1 + n[0];
		tp.inet_conn.icsk_rto = n[1];
		CONTROL.cwnd_event(sk, CA_EVENT_TX_START);
		return 1;
	case 'd':
		on_data(sk, n);
		return 1;
	case 'k':
		bpf_tcp_send_ack(&tp, tp.rcv_nxt);
		tp.inet_conn.icsk_ack.pending = 0;
		return 1;
	default:
		return 0;
	}
}

int main(int argc, char **argv)
{
	struct sock *sk = (struct sock *)&tp;
	const state_type *state = inet_csk_ca(sk);
	char line[256];

	for (int i = 1; i < argc; i++)
		set_parameter(argv[i]);
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long long n[6] = { 0 };
		char *rest = line + 1;

		for (int i = 0; i < 6; i++)
			n[i] = strtoull(rest, &rest, 10);
		if (!on_event(sk, line[0], n)) {
			fprintf(stderr, "no event: %s", line);
			return 2;
		}
		if (line[0] == 'd' || line[0] == 'k')
			printf("%u %u\n", echoed[0], echoed[1]);
		else
			printf("%u %llu\n", tp.snd_cwnd, (unsigned long long)state->cwnd_q32);
	}
#ifndef REPLAY_GEMINI
	printf("# %u %u\n", state->epochs, state->quick_adapts);
#endif
	return 0;
}
