// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A window that never changes, as a TCP congestion control: it shows what a path does without one, and what the loader does with
 * any control. Losses, marks and idle times leave it alone; the socket's own bound holds.
 */
#include "window.h"

/* Packets. */
PARAMETERS __u32 window = 32;

INLINE void publish(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = clamped_pkts(tp, (__u64)window << 32);
	/* The kernel leaves this to controls of this kind: how large its bursts are follows from it. */
	set_pacing_rate(sk, (__u64)tp->snd_cwnd << 32, tp->srtt_us);
}

SEC("struct_ops")
void BPF_PROG(fixed_init, struct sock *sk)
{
	publish(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_ssthresh, struct sock *sk)
{
	return window;
}

SEC("struct_ops")
void BPF_PROG(fixed_cong_control, struct sock *sk, __u32 ack_seq, int flag, const struct rate_sample *rs)
{
	publish(sk);
}

/* A time-out sets the window to one packet before. */
SEC("struct_ops")
void BPF_PROG(fixed_set_state, struct sock *sk, __u8 state)
{
	publish(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_undo_cwnd, struct sock *sk)
{
	publish(sk);
	return tcp_sk(sk)->snd_cwnd;
}

SEC(STRUCT_OPS)
struct tcp_congestion_ops fixed = {
	.name = "fixed",
	.flags = TCP_CONG_NON_RESTRICTED,
	.init = (void *)fixed_init,
	.ssthresh = (void *)fixed_ssthresh,
	.set_state = (void *)fixed_set_state,
	.cong_control = (void *)fixed_cong_control,
	.undo_cwnd = (void *)fixed_undo_cwnd,
};

char _license[] SEC("license") = "Dual MIT/GPL";
