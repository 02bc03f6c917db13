/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Stands for the kernel where a control is compiled as a plain program: the same source, whose hooks are plain functions. */
#ifndef FARSPAN_USER_H
#define FARSPAN_USER_H

#define SEC(name)
#define BPF_PROG(name, ...) name(__VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(of, field) ((of)->field)
/* The replay sets them before the first hook, as the loader does. */
#define PARAMETERS static

/* The clock of the kernel's ticks, which the replay sets. */
static __u64 user_jiffies;

static inline __u64 bpf_jiffies64(void)
{
	return user_jiffies;
}

/* The replay counts what ACKs say. */
long bpf_tcp_send_ack(void *tp, __u32 rcv_nxt);

static inline long bpf_setsockopt(void *sk, int level, int name, void *value, int size)
{
	return 0;
}

#endif
