/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* In place of libbpf's, for user space: what the program asks the kernel for is what replay.c has read. */
#ifndef FARSPAN_BPF_HELPERS_H
#define FARSPAN_BPF_HELPERS_H

#include <linux/types.h>

#define SEC(name)
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

extern __u64 replay_now_ns;
extern __u32 replay_ecn;

__u32 bpf_get_prandom_u32(void);
void *bpf_map_lookup_elem(void *map, const void *key);

static inline __u64 bpf_ktime_get_ns(void)
{
	return replay_now_ns;
}

static inline void bpf_spin_lock(struct bpf_spin_lock *lock)
{
	(void)lock;
}

static inline void bpf_spin_unlock(struct bpf_spin_lock *lock)
{
	(void)lock;
}

/* The first two bytes of an IPv4 header. */
static inline int bpf_skb_load_bytes_relative(const struct __sk_buff *skb, __u32 offset, void *to, __u32 len, __u32 from)
{
	(void)skb, (void)offset, (void)len, (void)from;
	((__u8 *)to)[0] = 0x45;
	((__u8 *)to)[1] = replay_ecn;
	return 0;
}

static inline int bpf_skb_ecn_set_ce(struct __sk_buff *skb)
{
	(void)skb;
	return replay_ecn != 0;
}

#endif
