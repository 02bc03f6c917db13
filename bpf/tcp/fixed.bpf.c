// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A window that never changes, as a TCP congestion control: it shows what a path does without one, and what the loader does with
 * any control. The window is set where losses, idle times and restarts would have changed it.
 */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Only what is used; libbpf finds the members in the running kernel by their names. */
struct sock {
} __attribute__((preserve_access_index));

struct tcp_sock {
	__u32 snd_cwnd;
} __attribute__((preserve_access_index));

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	__u32 flags;
	char name[16];
};

/* May be the default of a network namespace. */
#define TCP_CONG_NON_RESTRICTED 1

/* Packets. */
const volatile __u32 window = 32;

SEC("struct_ops")
void BPF_PROG(fixed_init, struct sock *sk)
{
	((struct tcp_sock *)sk)->snd_cwnd = window;
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_ssthresh, struct sock *sk)
{
	return window;
}

SEC("struct_ops")
void BPF_PROG(fixed_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	((struct tcp_sock *)sk)->snd_cwnd = window;
}

SEC("struct_ops")
__u32 BPF_PROG(fixed_undo_cwnd, struct sock *sk)
{
	return window;
}

char _license[] SEC("license") = "Dual MIT/GPL";

SEC(".struct_ops.link")
struct tcp_congestion_ops fixed = {
	.init = (void *)fixed_init,
	.ssthresh = (void *)fixed_ssthresh,
	.cong_avoid = (void *)fixed_cong_avoid,
	.undo_cwnd = (void *)fixed_undo_cwnd,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "fixed",
};
