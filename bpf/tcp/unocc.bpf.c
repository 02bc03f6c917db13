// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * UnoCC as a congestion control of Linux TCP.
 *
 * "Uno: A One-Stop Solution for Inter- and Intra-Data Center Congestion Control and Reliable Connectivity", section 4.1 and
 * Algorithm 1, constants from Table 2, in the reading of crates/transport/src/congestion/controls/unocc, line by line: the two are
 * compared ACK by ACK (crates/languages). Left out here: the readings of Uno's published code.
 *
 * The window is cut once an epoch of an intra-datacenter round trip (14 us), for both classes of flows. Linux has fewer
 * ACKs than that: receivers acknowledge two packets at once, or a whole super-packet (GRO). An ACK ends one epoch at most, and
 * the next end lies no earlier than the send time of the packet that ended this. So an epoch lasts as long as the gap between
 * ACKs where that is more than 14 us, the window is cut less often than the paper says by that ratio, and the share of marks is
 * over all packets of the gap. docs/src/kernel-tcp.md has what that does, measured.
 *
 * Two rules stand here and not in the simulator: the window grows only while it is what limits the flow, and where no base
 * round trip is given, the smallest of the connection serves.
 */
#include "ecn_echo.h"
#include "window.h"

/* Set by the loader before the program is loaded; the same for all its flows. Ranges are the loader's to check. */
struct unocc_params {
	__u64 line_rate_bytes_per_s; /* C: the rate of the NIC, 1 to 2^36 */
	__u64 k_bytes;               /* K of the decrease, at most 2^28; 0: C x intra_rtt / 7 (Table 2) */
	__u32 intra_rtt_us;          /* base round trip inside a datacenter, the epoch period, 1 to 1,000,000 (Table 2: 14 us) */
	__u32 base_rtt_us;           /* base round trip of the path; 0: the smallest of the connection */
	__u32 base_rtt_floor_us;     /* least value of a measured base round trip: see learn_base */
	__u32 tolerance_us;          /* real queues count as empty up to this delay: one packet of others at each hop */
	__u32 alpha_ppm;             /* increase a round trip, as a part of the BDP, 1 to 1,000,000 (Table 2: 0.001) */
	__u32 beta_ppm;              /* Quick Adapt acts below this part of the window, 1 to 1,000,000 (Table 2: 0.5) */
	__u32 gain_ppm;              /* weight of the newest epoch in the average share of marks, 1 to 1,000,000 (0.5) */
	__u32 md_scale_ppm;          /* the part of a cut while only phantom queues are full, 1 to 1,000,000 (Algorithm 1: 0.3) */
	__u32 qa_factor_ppm;         /* the window after a Quick Adapt, as a part of the bytes acknowledged, 1 to 1,000,000 (1) */
	__u32 start_pkts;            /* first window; 0: one BDP */
	__u32 min_cwnd_pkts;         /* smallest window, 1 or more; receivers hold the ACK of a lone packet for up to 40 ms */
	__u32 max_cwnd_pkts;         /* largest window beside one BDP, at most 2^20; the socket's own clamp holds too */
};

PARAMETERS struct unocc_params params = {
	.line_rate_bytes_per_s = 125000000,
	.k_bytes = 0,
	.intra_rtt_us = 14,
	.base_rtt_us = 0,
	.base_rtt_floor_us = 100,
	.tolerance_us = 72,
	.alpha_ppm = 1000,
	.beta_ppm = 500000,
	.gain_ppm = 500000,
	.md_scale_ppm = 300000,
	.qa_factor_ppm = 1000000,
	.start_pkts = 0,
	.min_cwnd_pkts = 2,
	.max_cwnd_pkts = MOST_CWND_PKTS,
};

/* The state of one flow. */
struct unocc {
	__u64 cwnd_q32;       /* the window, in packets */
	__u64 bdp_q32;        /* the bandwidth-delay product, the largest window; 0 before the base round trip is known */
	__u64 epoch_us;       /* T_epoch: an ACK of a packet sent since ends the epoch, or begins the first */
	__u64 qa_us;          /* when the Quick Adapt period is over; paused: an ACK of a packet sent since opens the next */
	__u32 e_q31;          /* E, the average share of marked packets over epochs */
	__u32 acked_pkts;     /* of the current epoch */
	__u32 marked_pkts;    /* of these */
	__u32 delay_us;       /* smallest delay among the marked ACKs of the current epoch */
	__u32 base_rtt_us;    /* the base round trip; NO_RTT before it is known */
	__u32 mss_bytes;      /* packet size that bdp_q32 counts in */
	__u32 qa_period_us;
	__u32 qa_in_flight_pkts; /* when the period opened */
	__u32 qa_acked_pkts;  /* in the period */
	__u32 epochs;         /* that have ended, for those who look */
	__u32 quick_adapts;   /* that acted, for those who look */
	struct ecn_echo echo;
	__u8 in_epoch;        /* epochs are on */
	__u8 in_qa;           /* a Quick Adapt period is open */
};

_Static_assert(sizeof(struct unocc) <= CA_PRIV_WORDS * 8, "the state fits into the socket");

#define NO_RTT (~0U)

/* The rate in bytes, over a time of at most 10 s: more would leave 64 bits. */
INLINE __u64 bytes_in(__u64 time_us)
{
	return params.line_rate_bytes_per_s * min_u64(time_us, 10 * MILLION) / MILLION;
}

/* K of the decrease, in bytes; not more than 4K has room for before its point. */
INLINE __u64 k_bytes(void)
{
	__u64 k = params.k_bytes ? params.k_bytes : bytes_in(params.intra_rtt_us) / 7;

	return min_u64(max_u64(k, 1), 1ULL << 29);
}

/*
 * Within the bounds that hold for every window: one BDP and the parameters. A BDP of less than the smallest window gives way to it:
 * a receiver holds the ACK of a lone packet back, for 40 ms.
 */
INLINE void clamp_window(struct unocc *u, const struct tcp_sock *tp)
{
	__u64 most_q32 = cap_q32(tp, params.max_cwnd_pkts);
	__u64 least_q32 = (__u64)params.min_cwnd_pkts << 32;

	u->cwnd_q32 = max_u64(u->cwnd_q32, least_q32);
	if (u->bdp_q32)
		most_q32 = min_u64(most_q32, max_u64(u->bdp_q32, least_q32));
	u->cwnd_q32 = max_u64(min_u64(u->cwnd_q32, most_q32), ONE_Q32);
}

/* Gives the window to the kernel: within its bounds last, whatever changed it. There is no slow start. */
INLINE void publish(struct sock *sk, struct unocc *u)
{
	struct tcp_sock *tp = tcp_sk(sk);

	clamp_window(u, tp);
	tp->snd_cwnd = clamped_pkts(tp, u->cwnd_q32);
	tp->snd_ssthresh = tp->snd_cwnd;
	if (u->base_rtt_us != NO_RTT)
		set_pacing_rate(sk, u->cwnd_q32, (__u64)u->base_rtt_us * 8);
}

/*
 * Takes a sample of the base round trip in; the first one brings the first window, where that is one BDP. The smallest sample is that
 * of a lone packet which nobody waited for: 4 us between two namespaces, where a window takes 100. A BDP of such a round trip is
 * less than a packet, and would be the largest window of the flow for ever: hence the floor.
 */
INLINE void learn_base(struct unocc *u, const struct tcp_sock *tp, __u32 rtt_us)
{
	__u32 mss_bytes = max_u64(tp->mss_cache, 1);
	__u64 bdp_bytes;
	int first = !u->bdp_q32;

	rtt_us = params.base_rtt_us ? params.base_rtt_us : max_u64(rtt_us, params.base_rtt_floor_us);
	if (rtt_us >= u->base_rtt_us && mss_bytes == u->mss_bytes)
		return;
	u->base_rtt_us = min_u64(rtt_us, u->base_rtt_us);
	u->mss_bytes = mss_bytes;
	bdp_bytes = min_u64(bytes_in(u->base_rtt_us), (__u64)mss_bytes * MOST_CWND_PKTS);
	u->bdp_q32 = max_u64(ratio_q32(bdp_bytes, mss_bytes), ONE_Q32);
	if (first && !params.start_pkts)
		u->cwnd_q32 = u->bdp_q32;
}

/* cwnd += alpha x packets acked / cwnd (Algorithm 1 line 3), alpha a part of the BDP. */
INLINE void increase(struct unocc *u, const struct tcp_sock *tp, const struct ack_event *ack)
{
	__u64 step_q32 = mul_q32(u->bdp_q32, ppm_q32(params.alpha_ppm));

	if (!ack->limited)
		return;
	u->cwnd_q32 += growth_q32(step_q32, ack->acked_pkts, u->cwnd_q32);
	clamp_window(u, tp);
}

/* Procedure ONEPOCH of Algorithm 1. */
INLINE void end_epoch(struct unocc *u, const struct ack_event *ack)
{
	__u32 marked_pkts = u->marked_pkts, delay_us = u->delay_us;
	__u64 cut_q32;

	/* A flow that was silent does not save up epochs: the next end is not before this packet left. */
	u->epoch_us = max_u64(u->epoch_us + params.intra_rtt_us, ack->sent_at_us);
	u->epochs++;
	u->e_q31 = average_q31(u->e_q31, marked_pkts, u->acked_pkts, params.gain_ppm);
	u->acked_pkts = 0;
	u->marked_pkts = 0;
	u->delay_us = NO_RTT;
	if (!marked_pkts)
		return;
	/* Line 14: cwnd x (1 - E x 4K / (K + BDP) x MD_scale). The bound matters where the gain alone exceeds 1/2. */
	cut_q32 = (4 * k_bytes() << 32) / (k_bytes() + bytes_in(u->base_rtt_us));
	cut_q32 = mul_q32(cut_q32, (__u64)u->e_q31 << 1);
	/* Lines 9 to 13: marks without a delay come from phantom queues alone. */
	if (delay_us <= params.tolerance_us)
		cut_q32 = mul_q32(cut_q32, ppm_q32(params.md_scale_ppm));
	u->cwnd_q32 = mul_q32(u->cwnd_q32, ONE_Q32 - min_u64(cut_q32, HALF_Q32));
	u->cwnd_q32 = max_u64(u->cwnd_q32, ONE_Q32);
}

/* Counts the ACK in its epoch, and ends the epoch if the packet was sent after T_epoch (section 4.1.1). */
INLINE void on_epoch_ack(struct unocc *u, const struct ack_event *ack)
{
	int since = ack->rtt_us && ack->sent_at_us >= u->epoch_us;

	if (!u->in_epoch) {
		if (!since)
			return;
		u->in_epoch = 1;
		u->epoch_us = ack->now_us;
		u->acked_pkts = 0;
		u->marked_pkts = 0;
		u->delay_us = NO_RTT;
		return;
	}
	u->acked_pkts += ack->acked_pkts;
	if (ack->marked) {
		u->marked_pkts += ack->acked_pkts;
		if (ack->rtt_us) {
			__u32 delay_us = ack->rtt_us > u->base_rtt_us ? ack->rtt_us - u->base_rtt_us : 0;

			u->delay_us = min_u64(u->delay_us, delay_us);
		}
	}
	if (since)
		end_epoch(u, ack);
}

INLINE void open_qa(struct unocc *u, __u64 now_us, __u32 period_us, __u32 in_flight_pkts)
{
	u->in_qa = 1;
	u->qa_us = now_us + period_us;
	u->qa_period_us = period_us;
	u->qa_in_flight_pkts = in_flight_pkts;
	u->qa_acked_pkts = 0;
}

/*
 * Procedure ONQA of Algorithm 1, for a period that is over; says whether it acted. Afterwards one round trip passes without a
 * Quick Adapt or a cut. The reference is what was in flight where that is less than the window: a window that could not be
 * used is no sign of congestion.
 */
INLINE int evaluate_qa(struct unocc *u, const struct tcp_sock *tp, __u64 now_us)
{
	__u64 acked_q32 = (__u64)u->qa_acked_pkts << 32;
	__u64 reference_q32 = min_u64(u->cwnd_q32, (__u64)u->qa_in_flight_pkts << 32);

	if (!u->in_qa || acked_q32 >= mul_q32(reference_q32, ppm_q32(params.beta_ppm)))
		return 0;
	u->cwnd_q32 = mul_q32(acked_q32, ppm_q32(params.qa_factor_ppm));
	clamp_window(u, tp);
	u->quick_adapts++;
	/* A packet that left at this very instant left under the old window. */
	u->in_epoch = 0;
	u->epoch_us = now_us + 1;
	u->in_qa = 0;
	u->qa_us = now_us + 1;
	return 1;
}

/*
 * Counts the ACK in its Quick Adapt period; evaluates the period if it is over, and opens the next. A period is a round trip: that of
 * this ACK, or the smoothed one where it is longer. On a busy host one packet comes through several times as fast as those beside it.
 */
INLINE void on_qa_ack(struct unocc *u, const struct tcp_sock *tp, const struct ack_event *ack)
{
	__u32 period_us = ack->rtt_us ? max_u64(ack->rtt_us, tp->srtt_us >> 3) : u->qa_period_us;

	if (u->in_qa) {
		u->qa_acked_pkts += ack->acked_pkts;
		if (ack->now_us < u->qa_us || evaluate_qa(u, tp, ack->now_us))
			return;
	} else if (!ack->rtt_us || ack->sent_at_us < u->qa_us) {
		return;
	}
	open_qa(u, ack->now_us, period_us, ack->in_flight_pkts);
}

SEC("struct_ops")
void BPF_PROG(unocc_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct unocc *u = inet_csk_ca(sk);

	if (falls_back(sk))
		return;
	u->cwnd_q32 = (__u64)(params.start_pkts ? params.start_pkts : tp->snd_cwnd) << 32;
	u->bdp_q32 = 0;
	u->epoch_us = 0;
	u->qa_us = 0;
	u->e_q31 = 0;
	u->acked_pkts = 0;
	u->marked_pkts = 0;
	u->delay_us = NO_RTT;
	u->base_rtt_us = NO_RTT;
	u->mss_bytes = 0;
	u->qa_period_us = 0;
	u->qa_in_flight_pkts = 0;
	u->qa_acked_pkts = 0;
	u->epochs = 0;
	u->quick_adapts = 0;
	u->in_epoch = 0;
	u->in_qa = 0;
	/* The handshake's round trip, where there was one. */
	if (params.base_rtt_us || tp->srtt_us >> 3)
		learn_base(u, tp, tp->srtt_us >> 3);
	ecn_echo_init(&u->echo, sk);
	ask_for_pacing(sk);
	publish(sk, u);
}

/* Losses and marks cut nothing by themselves: the threshold is the window, and there is no slow start to go back to. */
SEC("struct_ops")
__u32 BPF_PROG(unocc_ssthresh, struct sock *sk)
{
	const struct unocc *u = inet_csk_ca(sk);

	return whole_pkts(u->cwnd_q32);
}

SEC("struct_ops")
void BPF_PROG(unocc_cong_control, struct sock *sk, __u32 ack_seq, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct unocc *u = inet_csk_ca(sk);
	struct ack_event ack;

	/* The handshake's ACK comes before init: there is no window yet. */
	if (!u->cwnd_q32 || !read_ack(&ack, sk, flag, rs))
		return;
	if (ack.rtt_us)
		learn_base(u, tp, ack.rtt_us);
	if (!ack.marked)
		increase(u, tp, &ack);
	/* Quick Adapt first: where it acts, it puts off the cut that this ACK may bring. */
	on_qa_ack(u, tp, &ack);
	on_epoch_ack(u, &ack);
	publish(sk, u);
}

/*
 * A time-out evaluates Quick Adapt, for if everything is lost no ACK comes. The kernel has set the window to one packet for it; the
 * paper has no such rule, and what Quick Adapt makes of the window is published instead.
 */
SEC("struct_ops")
void BPF_PROG(unocc_set_state, struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct unocc *u = inet_csk_ca(sk);
	__u64 now_us = tp->tcp_mstamp;

	if (state != TCP_CA_LOSS || !u->cwnd_q32 || !is_time_out(tp, u->cwnd_q32))
		return;
	/* No ACK has opened a period yet: of the whole first window nothing arrived, and the kernel's one packet stays. */
	if (!u->in_qa && !u->qa_us) {
		u->cwnd_q32 = ONE_Q32;
		publish(sk, u);
		tp->snd_cwnd = 1;
		return;
	}
	if (u->in_qa && now_us >= u->qa_us && !evaluate_qa(u, tp, now_us))
		/* No ACK may ever come to open the next period; what was lost is about to be in flight again. */
		open_qa(u, now_us, u->qa_period_us, tp->packets_out - tp->sacked_out);
	publish(sk, u);
}

SEC("struct_ops")
__u32 BPF_PROG(unocc_undo_cwnd, struct sock *sk)
{
	struct unocc *u = inet_csk_ca(sk);

	if (u->cwnd_q32)
		publish(sk, u);
	return tcp_sk(sk)->snd_cwnd;
}

SEC("struct_ops")
void BPF_PROG(unocc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct unocc *u = inet_csk_ca(sk);

	ecn_echo_on_event(&u->echo, sk, event);
}

SEC(STRUCT_OPS)
struct tcp_congestion_ops unocc = {
	.name = "unocc",
	.flags = TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN,
	.init = (void *)unocc_init,
	.ssthresh = (void *)unocc_ssthresh,
	.set_state = (void *)unocc_set_state,
	.cwnd_event = (void *)unocc_cwnd_event,
	.cong_control = (void *)unocc_cong_control,
	.undo_cwnd = (void *)unocc_undo_cwnd,
};

char _license[] SEC("license") = "Dual MIT/GPL";
