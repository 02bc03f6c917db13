/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A window with a fraction of a packet on its way to the kernel, which has whole packets. */
#ifndef FARSPAN_WINDOW_H
#define FARSPAN_WINDOW_H

#include "kernel.h"
#include "fixed.h"

/* No ACK acknowledges more, and the products of growth_q32 stay within 64 bits. */
#define MOST_ACKED_PKTS 65536
/* The largest window that may be asked for, in packets. */
#define MOST_CWND_PKTS (1U << 20)

/* An ACK, as the controls take it. */
struct ack_event {
	__u64 now_us;
	__u64 sent_at_us;    /* when the newest packet that it acknowledges left; known with rtt_us alone */
	__u32 rtt_us;        /* of that packet; 0: unknown */
	__u32 acked_pkts;    /* acknowledged for the first time, 1 or more */
	__u32 in_flight_pkts; /* after it */
	_Bool marked;        /* it has the echo of a mark, and so had all that it acknowledges */
	_Bool limited;       /* the window is what limits the flow */
};

/*
 * Reads an ACK; false if it acknowledges nothing new, when it has no news of marks either. The round trip of data that was sent
 * twice comes from the option's timestamps, in ms: as a smallest round trip it would be wrong for ever, so it counts as unknown.
 */
INLINE int read_ack(struct ack_event *ack, const struct sock *sk, int flag, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ack->acked_pkts = min_u64(rs->acked_sacked, MOST_ACKED_PKTS);
	ack->now_us = tp->tcp_mstamp;
	ack->rtt_us = rs->rtt_us > 0 && !(flag & FLAG_RETRANS_DATA_ACKED) ? rs->rtt_us : 0;
	ack->sent_at_us = ack->now_us - ack->rtt_us;
	ack->in_flight_pkts = packets_in_flight(tp);
	ack->marked = !!(flag & FLAG_ECE);
	ack->limited = is_cwnd_limited(tp);
	return ack->acked_pkts > 0;
}

/*
 * Whole packets, rounded up: the simulator sends while what is in flight is below the window, and so lets the last packet
 * overshoot; so does this. One packet at least, for a window of none stops for ever.
 */
INLINE __u32 whole_pkts(__u64 window_q32)
{
	return max_u64((window_q32 >> 32) + !!(window_q32 & 0xffffffff), 1);
}

/* The same within the socket's own bound: what the kernel gets. */
INLINE __u32 clamped_pkts(const struct tcp_sock *tp, __u64 window_q32)
{
	return min_u64(whole_pkts(window_q32), max_u64(tp->snd_cwnd_clamp, 1));
}

/*
 * Whether the state of a loss is that of a time-out. A smaller path MTU has the kernel send again what is too large, in that state,
 * too (tcp_simple_retransmit): it leaves the window, which a time-out has just cut, and nothing can be undone.
 */
INLINE int is_time_out(const struct tcp_sock *tp, __u64 window_q32)
{
	return tp->undo_marker || tp->snd_cwnd < max_u64(clamped_pkts(tp, window_q32), 2);
}

/* The largest window that the socket and the parameter allow, in q32. */
INLINE __u64 cap_q32(const struct tcp_sock *tp, __u32 max_cwnd_pkts)
{
	__u64 most = min_u64(min_u64(tp->snd_cwnd_clamp, max_cwnd_pkts), MOST_CWND_PKTS);

	return max_u64(most, 1) << 32;
}

/* A number of packets as the kernel's threshold of slow start. */
INLINE __u32 whole_ssthresh_pkts(__u64 ssthresh_q32)
{
	return min_u64(whole_pkts(ssthresh_q32), TCP_INFINITE_SSTHRESH);
}

/* Bytes in a window, fraction included. */
INLINE __u64 window_bytes(__u64 cwnd_q32, __u32 mss_bytes)
{
	return ((cwnd_q32 >> 20) * mss_bytes) >> 12;
}

/*
 * From this rate on, 64 KB in 10 us, bursts are not kept apart: a timer for a shorter gap costs more of the processor than the gap is
 * long.
 */
#define MOST_PACED_BYTES_PER_S (65536 * MILLION / 10)
#define NOT_PACED (~0UL)

/*
 * Spreads a window over 5/6 of a round trip, given in eighths of a microsecond as the kernel has its smoothed one. Timers are late, and
 * what that costs is not made up: over the whole round trip a window is never quite in flight.
 * Linux has this headroom for controls that leave pacing to it (tcp_pacing_ca_ratio).
 */
INLINE void set_pacing_rate(struct sock *sk, __u64 cwnd_q32, __u64 rtt_eighths_us)
{
	__u64 bytes = window_bytes(cwnd_q32, tcp_sk(sk)->mss_cache);
	__u64 rate;

	if (!rtt_eighths_us)
		return;
	rate = max_u64(bytes * 8 * MILLION / 5 * 6 / rtt_eighths_us, 1);
	if (rate > MOST_PACED_BYTES_PER_S)
		rate = NOT_PACED;
	sk->sk_pacing_rate = min_u64(rate, sk->sk_max_pacing_rate);
}

/* Without fq, nothing paces a socket that does not ask TCP itself for it. */
INLINE void ask_for_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

#endif
