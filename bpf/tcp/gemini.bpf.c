// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Gemini as a congestion control of Linux TCP.
 *
 * Zeng et al., "Congestion Control for Cross-Datacenter Networks", section III-B, Algorithm 1 and Tables III and IV, in the
 * reading of crates/transport/src/congestion/controls/gemini, line by line: the two are compared ACK by ACK (crates/languages).
 * Left out here: the readings of Uno's published code.
 *
 * The kernel finds losses, retransmits, and undoes what it finds to be wrong. It does not move the window: a control that has
 * cong_control does that alone. Its state CWR, which it enters at a mark, therefore cuts nothing.
 */
#include "ecn_echo.h"
#include "window.h"

/* Set by the loader before the program is loaded; the same for all its flows. Ranges are the loader's to check. */
struct gemini_params {
	__u64 line_rate_bytes_per_s; /* C: the rate of the NIC, at most 2^36 */
	__u64 k_bytes;               /* K in F: the queue at which ports mark, 1 to 2^28; 75 KB for each Gb/s (Table IV) */
	__u64 h_bits_per_pkt;        /* 1 / H: so many bits of C x RTT give one packet of h, 1 to 2^32 - 1 (Table IV: 1.2e-7) */
	__u32 h_min_millipkts;       /* smallest h (section III-C: 0.1 packets) */
	__u32 h_max_millipkts;       /* largest h, at most 4,000,000 (section III-C: 5 packets) */
	__u32 h_fixed_millipkts;     /* h itself, at most 4,000,000; 0: in proportion to C x RTT */
	__u32 beta_ppm;              /* the cut for delay, at most 500,000 (Table IV: 0.2) */
	__u32 delay_threshold_us;    /* T: a longer queueing delay means congestion in the WAN (Table IV: 5 ms) */
	__u32 gain_ppm;              /* weight of the newest window in the average share of marks, 1 to 1,000,000 (DCTCP: 1/16) */
	__u32 alpha_start_ppm;       /* that average at the start, at most 1,000,000 (DCTCP: 1) */
	__u32 base_rtt_us;           /* RTT_base; 0: the smallest round trip of the connection (Table III) */
	__u32 start_pkts;            /* first window; 0: the kernel's */
	__u32 min_cwnd_pkts;         /* smallest window that a cut leaves; a time-out leaves one packet */
	__u32 max_cwnd_pkts;         /* largest window, at most 2^20; the socket's own clamp holds beside it */
	__u32 cut_per_rtt_min;       /* 1: cuts are RTT_min apart, queueing included (section III-B: the time that feedback takes); 0: RTT_base */
	__u32 restart_after_idle;    /* 1: a window that rested for a time-out is halved for each (RFC 2861); 0: it stays */
};

PARAMETERS struct gemini_params params = {
	.line_rate_bytes_per_s = 125000000,
	.k_bytes = 75000,
	.h_bits_per_pkt = 8333333,
	.h_min_millipkts = 100,
	.h_max_millipkts = 5000,
	.h_fixed_millipkts = 0,
	.beta_ppm = 200000,
	.delay_threshold_us = 5000,
	.gain_ppm = 62500,
	.alpha_start_ppm = 1000000,
	.base_rtt_us = 0,
	.start_pkts = 0,
	.min_cwnd_pkts = 2,
	.max_cwnd_pkts = MOST_CWND_PKTS,
	.cut_per_rtt_min = 1,
	.restart_after_idle = 1,
};

/* The state of one flow. */
struct gemini {
	__u64 cwnd_q32;           /* the window, in packets */
	__u64 ssthresh_q32;       /* slow start below it */
	__u64 prior_cwnd_q32;     /* the window before the last loss, if the kernel finds that there was none */
	__u64 prior_ssthresh_q32;
	__u64 reduced_at_us;      /* when the window was last cut; NEVER before */
	__u64 lost_at_us;         /* when a loss was last found: packets sent before do not grow the window */
	__u64 round_began_us;     /* the window of data over which marks and round trips are taken */
	__u32 alpha_q31;          /* average share of marked packets */
	__u32 acked_pkts;         /* of the current round */
	__u32 marked_pkts;        /* of these */
	__u32 rtt_base_us;        /* Table III's RTT_base; NO_RTT before it is known */
	__u32 rtt_min_us;         /* smallest round trip of the current round */
	__u32 last_rtt_min_us;    /* Table III's RTT_min: of the round before; 0 before there was one, and after a time-out */
	struct ecn_echo echo;
	__u8 ca_state;            /* the kernel's state of recovery, enum tcp_ca_state */
};

_Static_assert(sizeof(struct gemini) <= CA_PRIV_WORDS * 8, "the state fits into the socket");

#define NEVER (~0ULL)
#define NO_RTT (~0U)
/* 2^38 bits are a BDP of 34 GB: more of them give no larger product than 64 bits hold. */
#define MOST_BDP_BYTES (1ULL << 35)

/* C x RTT_base. */
INLINE __u64 bdp_bytes(__u32 rtt_base_us)
{
	/* A round trip of more than 10 s is none, and keeps the product within 64 bits. */
	__u64 rtt_us = min_u64(rtt_base_us, 10 * MILLION);

	return min_u64(params.line_rate_bytes_per_s * rtt_us / MILLION, MOST_BDP_BYTES);
}

/* Algorithm 1 line 11: h = H x C x RTT_base, within its bounds. */
INLINE __u64 increase_q32(__u32 rtt_base_us)
{
	__u64 bits = bdp_bytes(rtt_base_us) * 8;
	__u64 most_q32 = milli_q32(params.h_max_millipkts);

	if (params.h_fixed_millipkts)
		return milli_q32(params.h_fixed_millipkts);
	/* A quotient that has no room before its point is above the largest h. */
	if (bits / params.h_bits_per_pkt >= ONE_Q32)
		return most_q32;
	return min_u64(max_u64(ratio_q32(bits, params.h_bits_per_pkt), milli_q32(params.h_min_millipkts)), most_q32);
}

/* Gives the window to the kernel: within its bounds last, whatever changed it. */
INLINE void publish(struct sock *sk, struct gemini *g)
{
	struct tcp_sock *tp = tcp_sk(sk);

	g->cwnd_q32 = max_u64(min_u64(g->cwnd_q32, cap_q32(tp, params.max_cwnd_pkts)), ONE_Q32);
	tp->snd_cwnd = clamped_pkts(tp, g->cwnd_q32);
	tp->snd_ssthresh = whole_ssthresh_pkts(g->ssthresh_q32);
	set_pacing_rate(sk, g->cwnd_q32, tp->srtt_us);
}

/* Takes a part of the window away, and ends slow start (RFC 3168, section 6.1.2). */
INLINE void cut(struct gemini *g, __u64 part_q32, __u64 now_us)
{
	__u64 left_q32 = max_u64(mul_q32(g->cwnd_q32, ONE_Q32 - part_q32), ONE_Q32);

	g->cwnd_q32 = min_u64(left_q32, g->cwnd_q32);
	g->ssthresh_q32 = g->cwnd_q32;
	g->cwnd_q32 = max_u64(g->cwnd_q32, (__u64)params.min_cwnd_pkts << 32);
	g->reduced_at_us = now_us;
}

/*
 * Algorithm 1 lines 6 to 9: F = 4K / (C x RTT_base + K), cwnd x (1 - max(alpha F, beta)). F exceeds 1 at short round trips, so
 * alpha F is held at DCTCP's largest cut.
 */
INLINE __u64 part_to_cut_q32(const struct gemini *g, int dcn, int wan)
{
	__u64 f_q32 = (4 * params.k_bytes << 32) / (bdp_bytes(g->rtt_base_us) + params.k_bytes);
	__u64 dcn_q32 = dcn ? min_u64(mul_q32(f_q32, (__u64)g->alpha_q31 << 1), HALF_Q32) : 0;
	__u64 wan_q32 = wan ? ppm_q32(params.beta_ppm) : 0;

	return max_u64(dcn_q32, wan_q32);
}

/* How long after a cut the window may be cut once more. */
INLINE __u64 cut_interval_us(const struct gemini *g)
{
	return params.cut_per_rtt_min ? max_u64(g->rtt_base_us, g->last_rtt_min_us) : g->rtt_base_us;
}

/* Algorithm 1 line 1. */
INLINE void update_transport_state(struct gemini *g, const struct ack_event *ack)
{
	g->acked_pkts += ack->acked_pkts;
	if (ack->marked)
		g->marked_pkts += ack->acked_pkts;
	if (!ack->rtt_us)
		return;
	if (!params.base_rtt_us && ack->rtt_us < g->rtt_base_us)
		g->rtt_base_us = ack->rtt_us;
	if (ack->rtt_us < g->rtt_min_us)
		g->rtt_min_us = ack->rtt_us;
	/* A round ends with the ACK of a packet that was sent after it began. */
	if (ack->sent_at_us < g->round_began_us)
		return;
	g->round_began_us = ack->now_us;
	g->alpha_q31 = average_q31(g->alpha_q31, g->marked_pkts, g->acked_pkts, params.gain_ppm);
	g->last_rtt_min_us = g->rtt_min_us;
	g->rtt_min_us = NO_RTT;
	g->acked_pkts = 0;
	g->marked_pkts = 0;
}

/*
 * Line 12, cwnd = cwnd + h / cwnd for each packet, and slow start below the threshold; not for packets sent before the last
 * loss. An ACK without a round trip is one of a retransmission: only after a time-out are those all that comes.
 */
INLINE void grow(struct gemini *g, const struct ack_event *ack)
{
	int recovered = ack->rtt_us ? ack->sent_at_us >= g->lost_at_us : g->ca_state == TCP_CA_LOSS;

	if (!ack->limited || !recovered)
		return;
	if (g->cwnd_q32 < g->ssthresh_q32)
		g->cwnd_q32 = min_u64(g->cwnd_q32 + ((__u64)ack->acked_pkts << 32),
				      max_u64(g->ssthresh_q32, ONE_Q32));
	else
		g->cwnd_q32 += growth_q32(increase_q32(g->rtt_base_us), ack->acked_pkts, g->cwnd_q32);
}

SEC("struct_ops")
void BPF_PROG(gemini_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct gemini *g = inet_csk_ca(sk);

	if (falls_back(sk))
		return;
	g->cwnd_q32 = (__u64)(params.start_pkts ? params.start_pkts : tp->snd_cwnd) << 32;
	g->ssthresh_q32 = tp->snd_ssthresh < TCP_INFINITE_SSTHRESH ? (__u64)tp->snd_ssthresh << 32 : INFINITE_Q32;
	g->prior_cwnd_q32 = g->cwnd_q32;
	g->prior_ssthresh_q32 = g->ssthresh_q32;
	g->reduced_at_us = NEVER;
	g->lost_at_us = 0;
	g->round_began_us = 0;
	g->alpha_q31 = ppm_q32(params.alpha_start_ppm) >> 1;
	g->acked_pkts = 0;
	g->marked_pkts = 0;
	g->rtt_base_us = params.base_rtt_us ? params.base_rtt_us : NO_RTT;
	g->rtt_min_us = NO_RTT;
	g->last_rtt_min_us = 0;
	g->ca_state = 0;
	ecn_echo_init(&g->echo, sk);
	ask_for_pacing(sk);
	publish(sk, g);
}

/* The kernel asks at losses and at marks; what they do is done where they are notified. */
SEC("struct_ops")
__u32 BPF_PROG(gemini_ssthresh, struct sock *sk)
{
	const struct gemini *g = inet_csk_ca(sk);

	return whole_ssthresh_pkts(g->ssthresh_q32);
}

SEC("struct_ops")
void BPF_PROG(gemini_cong_control, struct sock *sk, __u32 ack_seq, int flag, const struct rate_sample *rs)
{
	struct gemini *g = inet_csk_ca(sk);
	struct ack_event ack;
	int wan;

	/* The handshake's ACK comes before init: there is no window yet. */
	if (!g->cwnd_q32 || !read_ack(&ack, sk, flag, rs))
		return;
	update_transport_state(g, &ack);
	/* Lines 2 and 3. Before the first round is over there is no RTT_min, and no RTT_base to add to either. */
	wan = g->last_rtt_min_us > (__u64)g->rtt_base_us + params.delay_threshold_us;
	if (!ack.marked && !wan)
		grow(g, &ack);
	else if (g->reduced_at_us == NEVER || ack.now_us - g->reduced_at_us > cut_interval_us(g))
		cut(g, part_to_cut_q32(g, ack.marked, wan), ack.now_us);
	publish(sk, g);
}

/* TCP's reactions to losses, which the kernel has just found; a recent cut for marks or delay does not hold them back. */
SEC("struct_ops")
void BPF_PROG(gemini_set_state, struct sock *sk, __u8 state)
{
	struct gemini *g = inet_csk_ca(sk);
	__u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (!g->cwnd_q32)
		return;
	if (state == TCP_CA_LOSS && !is_time_out(tcp_sk(sk), g->cwnd_q32))
		return;
	/* A time-out in the midst of a recovery belongs to the same episode: undone, it goes back to before both. */
	if (g->ca_state < TCP_CA_RECOVERY && state >= TCP_CA_RECOVERY) {
		g->prior_cwnd_q32 = g->cwnd_q32;
		g->prior_ssthresh_q32 = g->ssthresh_q32;
	}
	g->ca_state = state;
	if (state < TCP_CA_RECOVERY)
		return;
	if (state == TCP_CA_RECOVERY) {
		cut(g, HALF_Q32, now_us);
	} else {
		/* One packet, and slow start up to half the window (RFC 5681, section 3.1). */
		if (g->cwnd_q32 > ONE_Q32)
			g->ssthresh_q32 = max_u64(g->cwnd_q32 / 2, 2 * ONE_Q32);
		g->cwnd_q32 = ONE_Q32;
		g->reduced_at_us = now_us;
		/*
		 * RTT_min of before speaks of a window that is gone. ACKs of what is sent again have no round trip to replace it:
		 * it would cut the smallest window, and its threshold, until all of that has arrived.
		 */
		g->last_rtt_min_us = 0;
	}
	g->lost_at_us = now_us;
	publish(sk, g);
}

SEC("struct_ops")
__u32 BPF_PROG(gemini_undo_cwnd, struct sock *sk)
{
	struct gemini *g = inet_csk_ca(sk);

	if (!g->cwnd_q32)
		return tcp_sk(sk)->snd_cwnd;
	g->cwnd_q32 = max_u64(g->cwnd_q32, g->prior_cwnd_q32);
	g->ssthresh_q32 = max_u64(g->ssthresh_q32, g->prior_ssthresh_q32);
	g->lost_at_us = 0;
	publish(sk, g);
	return tcp_sk(sk)->snd_cwnd;
}

/* Half the window for each time-out that passed, down to the first window (RFC 2861): the kernel leaves it to cong_control. */
INLINE void restart_after_idle(struct sock *sk, struct gemini *g)
{
	__u32 idle = (__u32)bpf_jiffies64() - tcp_sk(sk)->lsndtime;
	__u32 rto = inet_csk(sk)->icsk_rto;
	__u64 first_q32 = (__u64)(params.start_pkts ? params.start_pkts : 10) << 32;

	/* Before the first packet there is no time when the last one left. */
	if (!g->cwnd_q32 || !params.restart_after_idle || !rto || !tcp_sk(sk)->lsndtime || idle <= rto)
		return;
	first_q32 = min_u64(first_q32, g->cwnd_q32);
	g->ssthresh_q32 = max_u64(g->ssthresh_q32, g->cwnd_q32 / 4 * 3);
	g->cwnd_q32 = max_u64(g->cwnd_q32 >> min_u64((idle - 1) / rto, 63), first_q32);
	publish(sk, g);
}

SEC("struct_ops")
void BPF_PROG(gemini_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct gemini *g = inet_csk_ca(sk);

	if (event == CA_EVENT_TX_START)
		restart_after_idle(sk, g);
	else
		ecn_echo_on_event(&g->echo, sk, event);
}

SEC(STRUCT_OPS)
struct tcp_congestion_ops gemini = {
	.name = "gemini",
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.init = (void *)gemini_init,
	.ssthresh = (void *)gemini_ssthresh,
	.set_state = (void *)gemini_set_state,
	.cwnd_event = (void *)gemini_cwnd_event,
	.cong_control = (void *)gemini_cong_control,
	.undo_cwnd = (void *)gemini_undo_cwnd,
};

char _license[] SEC("license") = "Dual MIT/GPL";
