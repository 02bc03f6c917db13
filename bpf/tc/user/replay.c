// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The program of mark.bpf.c in user space, on recorded arrivals.
 *
 * usage: replay NAME VALUE ... < ARRIVALS     the program's variables, then lines of: ns, bytes, ECN bits
 *
 * Prints for each arrival the counter after it, in picoseconds of draining, and whether it was marked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETER
#include "../mark.bpf.c"

__u64 replay_now_ns;
__u32 replay_ecn;

static struct port_state state;
static __u64 draws = 0x9e3779b97f4a7c15ULL;

void *bpf_map_lookup_elem(void *map, const void *key)
{
	(void)map, (void)key;
	return &state;
}

/* xorshift64* (Vigna 2016). */
__u32 bpf_get_prandom_u32(void)
{
	draws ^= draws >> 12;
	draws ^= draws << 25;
	draws ^= draws >> 27;
	return (draws * 0x2545f4914f6cdd1dULL) >> 32;
}

static int set(const char *name, const char *text)
{
	__u64 value = strtoull(text, NULL, 10);

#define SET(variable)                 \
	if (!strcmp(name, #variable)) \
		return variable = value, 1;
	SET(byte_time_ps)
	SET(byte_time_fraction)
	SET(full_ps)
	SET(min_ps)
	SET(max_ps)
	SET(ramp_width)
	SET(ramp_shift)
	SET(rate_bps)
	SET(drain_bps)
	SET(size_bytes)
	SET(min_bytes)
	SET(max_bytes)
	return 0;
}

int main(int argc, char **argv)
{
	__u64 now, bytes;
	unsigned int ecn;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!set(argv[i], argv[i + 1])) {
			fprintf(stderr, "replay: no variable %s\n", argv[i]);
			return 2;
		}
	}
	while (scanf("%" SCNu64 " %" SCNu64 " %u", (uint64_t *)&now, (uint64_t *)&bytes, &ecn) == 3) {
		struct __sk_buff packet = { .protocol = bpf_htons(ETH_P_IP), .wire_len = bytes };
		__u64 before = state.marked;

		replay_now_ns = now;
		replay_ecn = ecn;
		mark(&packet);
		printf("%" PRIu64 " %d\n", (uint64_t)state.lag_ps, (int)(state.marked - before));
	}
	return 0;
}
