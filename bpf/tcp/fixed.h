/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Fixed point. `_q32`: an unsigned number in units of 2^-32; `_q31`: one in [0, 1] in units of 2^-31, in 32 bits.
 *
 * Windows are q32: a window of a million packets takes 52 bits, and what a growth of h / cwnd loses by rounding adds up to
 * less than a thousandth of a packet over a million ACKs. Ten bits of fraction, as Linux's Vegas or BBR have, lost 131
 * packets at a window of 20,000.
 */
#ifndef FARSPAN_FIXED_H
#define FARSPAN_FIXED_H

#define ONE_Q32 (1ULL << 32)
#define ONE_Q31 (1U << 31)
#define HALF_Q32 (1ULL << 31)
#define INFINITE_Q32 (~0ULL)
#define MILLION 1000000ULL

INLINE __u64 min_u64(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

INLINE __u64 max_u64(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

/* value x factor, for a factor of at most 1. There are no 128-bit products in BPF, hence the two halves. */
INLINE __u64 mul_q32(__u64 value, __u64 factor_q32)
{
	return (value >> 32) * factor_q32 + (((value & 0xffffffff) * factor_q32) >> 32);
}

/* a / b, for b < 2^32 and a / b < 2^32. */
INLINE __u64 ratio_q32(__u64 a, __u64 b)
{
	return ((a / b) << 32) + ((a % b) << 32) / b;
}

/* Parts per million, at most 1,000,000 of them. */
INLINE __u64 ppm_q32(__u32 ppm)
{
	return ((__u64)ppm << 32) / MILLION;
}

INLINE __u64 milli_q32(__u32 thousandths)
{
	return ((__u64)thousandths << 32) / 1000;
}

/* The largest step of a round trip: 4,096 packets. */
#define MOST_STEP_Q32 (1ULL << 44)

/*
 * step x acked / cwnd, for windows of 1 to 2^20 packets and ACKs of at most 2^16: a long division, 20 bits after the first quotient.
 * The divisor drops 12 of its 32 bits of fraction: an error of 10^-6 of the growth at most.
 */
INLINE __u64 growth_q32(__u64 step_q32, __u32 acked_pkts, __u64 cwnd_q32)
{
	__u64 cwnd_q20 = cwnd_q32 >> 12;
	__u64 total_q32 = min_u64(step_q32, MOST_STEP_Q32) * acked_pkts;

	return ((total_q32 / cwnd_q20) << 20) + ((total_q32 % cwnd_q20) << 20) / cwnd_q20;
}

/* The average of shares of marks moves towards the share of the last period by the gain. */
INLINE __u32 average_q31(__u32 average, __u32 marked_pkts, __u32 acked_pkts, __u32 gain_ppm)
{
	__u64 share_q31 = ((__u64)marked_pkts << 31) / acked_pkts;

	return (average * (MILLION - gain_ppm) + share_q31 * gain_ppm + MILLION / 2) / MILLION;
}

#endif
