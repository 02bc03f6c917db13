/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The part of the kernel's TCP that the controls touch.
 *
 * Only the fields in use are declared; the loader finds each by its name in the kernel's own types (CO-RE), so their order and
 * their gaps here mean nothing. With FARSPAN_USER the same names stand for plain memory: see user.h.
 */
#ifndef FARSPAN_KERNEL_H
#define FARSPAN_KERNEL_H

typedef signed int __s32;
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
#ifdef FARSPAN_USER
/* As the C library of the machine has them, whose headers the replay needs. */
typedef __INT64_TYPE__ __s64;
typedef __UINT64_TYPE__ __u64;
#else
typedef signed long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
#endif

/* Values of enum tcp_ca_state. */
enum {
	TCP_CA_RECOVERY = 3,
	TCP_CA_LOSS = 4,
};

/* enum tcp_ca_event, under the kernel's name: the programs' types are checked against it. */
enum tcp_ca_event {
	CA_EVENT_TX_START,     /* first transmission when nothing is in flight */
	CA_EVENT_CWND_RESTART, /* after an idle time; never for controls with cong_control */
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE, /* a data packet came without a mark */
	CA_EVENT_ECN_IS_CE, /* a data packet came with one */
};

/* Values of tcp_congestion_ops.flags. */
#define TCP_CONG_NON_RESTRICTED 0x1 /* any user, and the default of any namespace */
#define TCP_CONG_NEEDS_ECN 0x2      /* asks for ECN in the handshake, and for the events of marks */

/* Flags of cong_control. */
#define FLAG_RETRANS_DATA_ACKED 0x08 /* the ACK is of data that was sent twice */
#define FLAG_ECE 0x40                /* the ACK has the echo of a mark */

/* Values of tcp_sock.ecn_flags. */
#define TCP_ECN_OK 0x1         /* both ends agreed on ECN */
#define TCP_ECN_DEMAND_CWR 0x4 /* ACKs carry ECE */

/* Values of inet_connection_sock.icsk_ack.pending. */
#define ICSK_ACK_TIMER 0x2 /* an ACK is held back */
#define ICSK_ACK_NOW 0x10  /* an ACK leaves at once */

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1
#define TCP_CLOSE 7
#define TCP_LISTEN 10
#define TCP_INFINITE_SSTHRESH 0x7fffffff

#define SOL_TCP 6
#define TCP_CONGESTION 13

#define CA_PRIV_WORDS 13

#ifdef FARSPAN_USER
#define KERNEL_TYPE
#else
#define KERNEL_TYPE __attribute__((preserve_access_index))
#endif

struct sock_common {
	volatile unsigned char skc_state;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	__u32 sk_pacing_status;
	unsigned long sk_pacing_rate;     /* bytes per second */
	unsigned long sk_max_pacing_rate; /* bytes per second */
} KERNEL_TYPE;

struct inet_sock {
	struct sock sk;
} KERNEL_TYPE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u32 icsk_rto; /* jiffies */
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[CA_PRIV_WORDS]; /* the control's own state */
} KERNEL_TYPE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 mss_cache;    /* payload of a full packet, bytes */
	__u32 snd_cwnd;     /* packets */
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh; /* packets */
	__u32 max_packets_out; /* most in flight in the last window */
	__u32 packets_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 retrans_out;
	__u32 srtt_us;      /* smoothed round trip, 1/8 us */
	__u64 tcp_mstamp;   /* when the current ACK came, us */
	__u32 lsndtime;     /* when data last left, jiffies */
	__u32 undo_marker;  /* where the last loss was found; 0: it cannot be undone */
	__u32 rcv_nxt;
	__u32 rcv_wup;      /* rcv_nxt when the last ACK left */
	__u8 ecn_flags;
	__u8 is_cwnd_limited : 1; /* the window held packets back in the last window */
} KERNEL_TYPE;

struct rate_sample {
	long rtt_us;        /* of the newest packet that this ACK acknowledges; -1: none */
	__u32 acked_sacked; /* packets that it acknowledges for the first time */
} KERNEL_TYPE;

struct tcp_congestion_ops {
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*set_state)(struct sock *sk, __u8 state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*cong_control)(struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs);
	__u32 (*undo_cwnd)(struct sock *sk);
} KERNEL_TYPE;

/* A hook need not use all that it gets; BPF_PROG hands it the context of its arguments besides. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#ifdef FARSPAN_USER
#include "user.h"
#else
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* Parameters lie in .rodata: the loader writes them before the program is loaded, and the verifier knows them as constants. */
#define PARAMETERS const volatile
#endif

/* The loader attaches by a link, which can be updated; old tools know only the section without one. */
#ifdef FARSPAN_WITHOUT_LINK
#define STRUCT_OPS ".struct_ops"
#else
#define STRUCT_OPS ".struct_ops.link"
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

INLINE struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

INLINE void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}

/* Packets in flight, as the kernel counts them. */
INLINE __u32 packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/*
 * Whether the window is what limits the flow: the kernel's rule for slow start, at all times. Its rule for later wants the
 * window full, which a flow that is paced at one window a round trip never quite has.
 */
INLINE int is_cwnd_limited(const struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) || tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* A peer without ECN never tells of marks, and packets that ask for them would be a lie: the flow becomes plain TCP. */
INLINE int falls_back(struct sock *sk)
{
	/* On the stack: the helper takes no constant of .rodata for a name that it may write to. */
	char cubic[16] = "cubic", reno[16] = "reno";

	if ((tcp_sk(sk)->ecn_flags & TCP_ECN_OK) || sk->__sk_common.skc_state == TCP_LISTEN ||
	    sk->__sk_common.skc_state == TCP_CLOSE)
		return 0;
	return !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, cubic, sizeof(cubic)) ||
	       !bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

#endif
