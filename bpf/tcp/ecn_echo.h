/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The receiver's half of DCTCP (RFC 8257, section 3.2): each ACK says whether the packets that it acknowledges came marked.
 *
 * Plain ECN repeats a mark until the sender has answered it, which hides how many there were. Here ECE follows the last packet,
 * and when the state changes, packets of the old state are acknowledged before: an ACK never speaks for packets of both.
 */
#ifndef FARSPAN_ECN_ECHO_H
#define FARSPAN_ECN_ECHO_H

#include "kernel.h"

struct ecn_echo {
	__u32 acked_to; /* rcv_nxt when the last data packet came: what an ACK of the old state speaks for */
	__u8 marked;    /* the last data packet came marked */
};

INLINE void ecn_echo_init(struct ecn_echo *echo, const struct sock *sk)
{
	echo->acked_to = tcp_sk(sk)->rcv_nxt;
	echo->marked = 0;
}

/* Whether ACKs carry ECE from here on. */
INLINE void ecn_echo_set(struct sock *sk, int marked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (marked)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

/*
 * Whether packets before this one still wait for their ACK. Linux's DCTCP looks for a held one alone; but an ACK that should have left
 * at once waits, too, while a program has the socket (tcp_backlog_ack_defer), and its mark would be lost to the next packet.
 */
INLINE int ecn_echo_owes_ack(const struct ecn_echo *echo, const struct sock *sk)
{
	return (__s32)(tcp_sk(sk)->rcv_wup - echo->acked_to) < 0 ||
	       (inet_csk(sk)->icsk_ack.pending & (ICSK_ACK_TIMER | ICSK_ACK_NOW));
}

/* A data packet came; rcv_nxt has moved past it, if it was the next. */
INLINE void ecn_echo_on_data(struct ecn_echo *echo, struct sock *sk, int marked)
{
	if (echo->marked != marked) {
		if (ecn_echo_owes_ack(echo, sk)) {
			ecn_echo_set(sk, echo->marked);
			bpf_tcp_send_ack(tcp_sk(sk), echo->acked_to);
		}
		inet_csk(sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	echo->acked_to = tcp_sk(sk)->rcv_nxt;
	echo->marked = marked;
	ecn_echo_set(sk, marked);
}

/* Takes the events of marks; others are none of its. */
INLINE void ecn_echo_on_event(struct ecn_echo *echo, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		ecn_echo_on_data(echo, sk, event == CA_EVENT_ECN_IS_CE);
}

#endif
