/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tg_spectrum.h's steps on four points at once. High halves of products with rotations in the upper half of a lane are
 * those products less 16 bits, rounded down.
 */
#ifndef TG_SPECTRUM_MVE_H
#define TG_SPECTRUM_MVE_H

#include <arm_mve.h>

#include "tg_complex.h"

#define TG_LANES 4

/* Each step is a function of its own: inlined into one, they keep vectors on the stack, and GCC 12 loses some there. */
#define TG_STEP static __attribute__((noinline))

/*
 * Pointers pass through an empty instruction: GCC 12 lets loads and stores of pairs step by a register, which no such
 * instruction can.
 */
static inline int32x4x2_t tg_load_points(const struct tg_complex *points)
{
    const int32_t *words = &points->re;

    __asm__("" : "+r"(words));
    return vld2q_s32(words);
}

static inline void tg_store_points(struct tg_complex *points, int32x4x2_t values)
{
    int32_t *words = &points->re;

    __asm__("" : "+r"(words));
    vst2q_s32(words, values);
}

/** Cosines and sines of four rotations, in the upper halves of lanes. */
struct tg_rotations {
    int32x4_t cosines;
    int32x4_t sines;
};

static inline struct tg_rotations tg_rotations_of(int32x4_t words)
{
    const struct tg_rotations found = {vshlq_n_s32(words, 16), vandq_s32(words, vdupq_n_s32((int32_t)0xFFFF0000))};

    return found;
}

/** Halves of four points, turned back. */
static inline int32x4x2_t tg_turned_mve(int32x4x2_t points, struct tg_rotations by)
{
    int32x4x2_t result;

    result.val[0] = vaddq_s32(vmulhq_s32(points.val[0], by.cosines), vmulhq_s32(points.val[1], by.sines));
    result.val[1] = vsubq_s32(vmulhq_s32(points.val[1], by.cosines), vmulhq_s32(points.val[0], by.sines));
    return result;
}

static inline int32x4x2_t tg_plus_mve(int32x4x2_t a, int32x4x2_t b)
{
    const int32x4x2_t sum = {{vaddq_s32(a.val[0], b.val[0]), vaddq_s32(a.val[1], b.val[1])}};

    return sum;
}

static inline int32x4x2_t tg_minus_mve(int32x4x2_t a, int32x4x2_t b)
{
    const int32x4x2_t difference = {{vsubq_s32(a.val[0], b.val[0]), vsubq_s32(a.val[1], b.val[1])}};

    return difference;
}

/** Whole points turned back; those of `as_they_are` stay. */
static inline int32x4x2_t tg_twice_turned_mve(int32x4x2_t points, struct tg_rotations by, mve_pred16_t as_they_are)
{
    const int32x4x2_t half = tg_turned_mve(points, by);
    int32x4x2_t result;

    result.val[0] = vpselq_s32(points.val[0], vshlq_n_s32(half.val[0], 1), as_they_are);
    result.val[1] = vpselq_s32(points.val[1], vshlq_n_s32(half.val[1], 1), as_they_are);
    return result;
}

/** The four results of tg_combine, in its order. */
struct tg_quarters {
    int32x4x2_t part[4];
};

static inline struct tg_quarters tg_combined_mve(int32x4x2_t a, int32x4x2_t b, int32x4x2_t c, int32x4x2_t d)
{
    const int32x4x2_t low = tg_plus_mve(a, b);
    const int32x4x2_t low_difference = tg_minus_mve(a, b);
    const int32x4x2_t high = tg_plus_mve(c, d);
    const int32x4x2_t high_difference = tg_minus_mve(c, d);
    struct tg_quarters result;

    result.part[0] = tg_plus_mve(low, high);
    result.part[1].val[0] = vaddq_s32(low_difference.val[0], high_difference.val[1]);
    result.part[1].val[1] = vsubq_s32(low_difference.val[1], high_difference.val[0]);
    result.part[2] = tg_minus_mve(low, high);
    result.part[3].val[0] = vsubq_s32(low_difference.val[0], high_difference.val[1]);
    result.part[3].val[1] = vaddq_s32(low_difference.val[1], high_difference.val[0]);
    return result;
}

/** A step of the transform, of at least four points each. */
TG_STEP void tg_transform_step_mve(struct tg_complex *points, int32_t count, int32_t apart, const int32_t *turns)
{
    const uint32_t stride = 3U * (uint32_t)(count / 4 / apart);
    const uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), stride);
    const struct tg_complex *const end = points + count;

    for (int32_t i = 0; i < apart; i += TG_LANES) {
        const int32_t *const turn = turns + (uint32_t)i * stride;
        const struct tg_rotations once = tg_rotations_of(vldrwq_gather_shifted_offset_s32(turn, lanes));
        const struct tg_rotations twice = tg_rotations_of(vldrwq_gather_shifted_offset_s32(turn + 1, lanes));
        const struct tg_rotations thrice = tg_rotations_of(vldrwq_gather_shifted_offset_s32(turn + 2, lanes));
        const mve_pred16_t first = i == 0 ? 0x000FU : 0;

        for (struct tg_complex *at = points + i; at < end; at += 4 * apart) {
            const int32x4x2_t a = tg_load_points(at);
            const int32x4x2_t b = tg_twice_turned_mve(tg_load_points(at + apart), twice, first);
            const int32x4x2_t c = tg_twice_turned_mve(tg_load_points(at + 2 * apart), once, first);
            const int32x4x2_t d = tg_twice_turned_mve(tg_load_points(at + 3 * apart), thrice, first);
            const struct tg_quarters result = tg_combined_mve(a, b, c, d);

            tg_store_points(at, result.part[0]);
            tg_store_points(at + apart, result.part[1]);
            tg_store_points(at + 2 * apart, result.part[2]);
            tg_store_points(at + 3 * apart, result.part[3]);
        }
    }
}

/** Four points, so many apart as `lanes`, in words, says. */
static inline int32x4x2_t tg_gather_points(const struct tg_complex *points, uint32x4_t lanes)
{
    const int32x4x2_t found = {
        {vldrwq_gather_shifted_offset_s32(&points->re, lanes), vldrwq_gather_shifted_offset_s32(&points->im, lanes)}};

    return found;
}

static inline void tg_scatter_points(struct tg_complex *points, uint32x4_t lanes, int32x4x2_t values)
{
    vstrwq_scatter_shifted_offset_s32(&points->re, lanes, values.val[0]);
    vstrwq_scatter_shifted_offset_s32(&points->im, lanes, values.val[1]);
}

/** The step of the transform from two points each, in four blocks at once; of at least 32 points. */
TG_STEP void tg_transform_pairs_mve(struct tg_complex *points, int32_t count, const int32_t *turns)
{
    const uint32x4_t lanes = vmulq_n_u32(vidupq_n_u32(0, 1), 16); /* words of a block of 8 points */
    const struct tg_complex *const end = points + count;

    for (int32_t i = 0; i < 2; i++) {
        const int32_t *const turn = turns + i * 3 * (count / 8);
        const struct tg_rotations once = tg_rotations_of(vdupq_n_s32(turn[0]));
        const struct tg_rotations twice = tg_rotations_of(vdupq_n_s32(turn[1]));
        const struct tg_rotations thrice = tg_rotations_of(vdupq_n_s32(turn[2]));
        const mve_pred16_t all = i == 0 ? 0xFFFFU : 0;

        for (struct tg_complex *at = points + i; at < end; at += 8 * TG_LANES) {
            const int32x4x2_t a = tg_gather_points(at, lanes);
            const int32x4x2_t b = tg_twice_turned_mve(tg_gather_points(at + 2, lanes), twice, all);
            const int32x4x2_t c = tg_twice_turned_mve(tg_gather_points(at + 4, lanes), once, all);
            const int32x4x2_t d = tg_twice_turned_mve(tg_gather_points(at + 6, lanes), thrice, all);
            const struct tg_quarters result = tg_combined_mve(a, b, c, d);

            for (int32_t quarter = 0; quarter < 4; quarter++) {
                tg_scatter_points(at + 2 * quarter, lanes, result.part[quarter]);
            }
        }
    }
}

/** Squared magnitudes of four numbers: lower halves, upper halves. */
static inline int32x4x2_t tg_powers_of(int32x4_t re, int32x4_t im)
{
    const uint32x4_t low_re = vreinterpretq_u32_s32(vmulq_s32(re, re));
    const uint32x4_t low = vaddq_u32(low_re, vreinterpretq_u32_s32(vmulq_s32(im, im)));
    const int32x4_t high = vaddq_s32(vmulhq_s32(re, re), vmulhq_s32(im, im));
    const int32x4x2_t powers = {{vreinterpretq_s32_u32(low), vaddq_m_n_s32(high, high, 1, vcmphiq_u32(low_re, low))}};

    return powers;
}

/** Four pairs of tg_powers, from bin `i` on. */
static inline void tg_four_powers_mve(struct tg_complex *points, int32_t count, int32_t i, const int32_t *halves)
{
    const uint32x4_t backwards = vddupq_n_u32(2 * TG_LANES - 2, 2); /* words: the last point first */
    struct tg_complex *const last = points + count - i - (TG_LANES - 1);
    const int32x4x2_t low = tg_load_points(points + i);
    const int32x4x2_t high = tg_gather_points(last, backwards);
    const int32x4_t even_re = vshrq_n_s32(vaddq_s32(low.val[0], high.val[0]), 1);
    const int32x4_t even_im = vshrq_n_s32(vsubq_s32(low.val[1], high.val[1]), 1);
    const int32x4x2_t odd = {{vaddq_s32(low.val[1], high.val[1]), vsubq_s32(high.val[0], low.val[0])}};
    const int32x4x2_t turned = tg_turned_mve(odd, tg_rotations_of(vldrwq_s32(halves + i)));

    tg_store_points(points + i, tg_powers_of(vaddq_s32(even_re, turned.val[0]), vaddq_s32(even_im, turned.val[1])));
    tg_scatter_points(
        last, backwards, tg_powers_of(vsubq_s32(even_re, turned.val[0]), vsubq_s32(turned.val[1], even_im)));
}

/** Sums of four powers at a time: without weights, and lower and upper halves with them. */
struct tg_partial_sums {
    uint64_t whole;
    uint64_t low;
    uint64_t high;
};

static inline struct tg_partial_sums tg_weighted_mve(
    const struct tg_complex *powers, const int16_t *weights, int32_t count)
{
    struct tg_partial_sums sums = {0, 0, 0};
    uint64_t upper = 0;

    for (int32_t i = 0; i < count; i += TG_LANES) {
        const int32x4x2_t halves = tg_load_points(powers + i);
        const uint32x4_t lower = vreinterpretq_u32_s32(halves.val[0]);
        const uint32x4_t higher = vreinterpretq_u32_s32(halves.val[1]);
        const uint32x4_t weight = vldrhq_u32((const uint16_t *)(const void *)(weights + i));

        sums.low = vmlaldavaq_u32(sums.low, lower, weight);
        sums.high = vmlaldavaq_u32(sums.high, higher, weight);
        sums.whole = vaddlvaq_u32(sums.whole, lower);
        upper = vaddlvaq_u32(upper, higher);
    }
    sums.whole += upper << 32;
    return sums;
}

#endif
