// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A phantom queue on a port of Linux (HULL, NSDI 2012; Uno 4.1.3): a counter that fills with what leaves and drains more slowly than
 * the link. RED on the counter sets CE on packets that are ECN-capable (Uno 5.1). The arithmetic is that of the simulator's ports:
 * the counter is kept as the time that it takes to drain, an integer of picoseconds.
 *
 * The program runs at TC egress. A super-packet that the device will cut (GSO) counts with the bytes of all its segments, and is
 * marked as one.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Set by the loader before the program is loaded. Where the file is compiled for user space they are plain variables. */
#ifndef PARAMETER
#define PARAMETER const volatile
#endif

/* How long a byte takes to drain: whole picoseconds, and 2^-32 of one. */
PARAMETER __u64 byte_time_ps;
PARAMETER __u32 byte_time_fraction;
/* Picoseconds: where the counter saturates, up to where no packet is marked, and above which each one is. */
PARAMETER __u64 full_ps;
PARAMETER __u64 min_ps;
PARAMETER __u64 max_ps;
/* The slope from min_ps to max_ps, divided by 2^ramp_shift so that it fits 32 bits. */
PARAMETER __u32 ramp_width;
PARAMETER __u32 ramp_shift;

/* What the port was asked for, for those who look at it: bit/s and bytes. The program does not read it. */
PARAMETER __u64 rate_bps;
PARAMETER __u64 drain_bps;
PARAMETER __u64 size_bytes;
PARAMETER __u64 min_bytes;
PARAMETER __u64 max_bytes;
/* Whether the device had no qdisc for such programs before, so that it goes with this one. */
PARAMETER __u32 made_qdisc;

struct port_state {
	struct bpf_spin_lock lock;
	__u32 unused;
	/* When the counter was last looked at, nanoseconds of the monotonic clock. */
	__u64 at_ns;
	/* How long the counter then took to drain, picoseconds. */
	__u64 lag_ps;
	/* Packets handed over, a super-packet as one; and as they will be cut. */
	__u64 packets;
	__u64 segments;
	/* With the headers of each segment. */
	__u64 bytes;
	/* Packets that are not ECN-capable, those of other protocols than IP among them. */
	__u64 not_ect;
	/* Packets that came with CE, and those that were given it here. */
	__u64 already_marked;
	__u64 marked;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct port_state);
} port SEC(".maps");

enum { NOT_ECT = 0, ECT_1 = 1, ECT_0 = 2, CE = 3 };

/* The ECN bits of an IP header, v4 or v6. */
static __always_inline __u32 ecn_of(struct __sk_buff *skb)
{
	__u8 head[2];

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6))
		return NOT_ECT;
	if (bpf_skb_load_bytes_relative(skb, 0, head, sizeof(head), BPF_HDR_START_NET))
		return NOT_ECT;
	return (skb->protocol == bpf_htons(ETH_P_IP) ? head[1] : head[1] >> 4) & 3;
}

/* The time that bytes take to drain, rounded to a picosecond. */
static __always_inline __u64 drain_time(__u64 bytes)
{
	return bytes * byte_time_ps + ((bytes * byte_time_fraction + (1ULL << 31)) >> 32);
}

/* Never up to min_ps, always above max_ps, linear between. */
static __always_inline bool red_marks(__u64 lag)
{
	if (lag <= min_ps)
		return false;
	if (lag > max_ps)
		return true;
	return (__u64)bpf_get_prandom_u32() * ramp_width < ((lag - min_ps) >> ramp_shift) << 32;
}

SEC("tc")
int mark(struct __sk_buff *skb)
{
	__u64 now = bpf_ktime_get_ns(), bytes = skb->wire_len, elapsed, lag;
	__u32 zero = 0, ecn = ecn_of(skb), segments = skb->gso_segs;
	struct port_state *state = bpf_map_lookup_elem(&port, &zero);

	if (!state)
		return TC_ACT_UNSPEC;
	bpf_spin_lock(&state->lock);
	/* Another CPU may have read a later clock. */
	elapsed = now > state->at_ns ? now - state->at_ns : 0;
	state->at_ns += elapsed;
	lag = state->lag_ps;
	/* Whoever waited longer than a full counter lasts finds it empty; that also bounds the product. */
	lag = elapsed > full_ps / 1000 || elapsed * 1000 >= lag ? 0 : lag - elapsed * 1000;
	lag += drain_time(bytes);
	if (lag > full_ps)
		lag = full_ps;
	state->lag_ps = lag;
	state->packets += 1;
	state->segments += segments ? segments : 1;
	state->bytes += bytes;
	state->not_ect += ecn == NOT_ECT;
	state->already_marked += ecn == CE;
	bpf_spin_unlock(&state->lock);
	if ((ecn == ECT_0 || ecn == ECT_1) && red_marks(lag) && bpf_skb_ecn_set_ce(skb))
		__sync_fetch_and_add(&state->marked, 1);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "Dual MIT/GPL";
