/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The discrete Fourier transform of real numbers, in fixed point.
 *
 * Samples 2 i and 2 i + 1 are the real and imaginary part of one point. Points stand in the order of their reversed
 * binary numbers at first, and in their own at the end; nothing is scaled on the way, so that callers leave room for
 * the sum of all magnitudes. Products with rotations are rounded down, and have one bit less until they are added.
 */
#ifndef TG_SPECTRUM_H
#define TG_SPECTRUM_H

#include <stdint.h>

#include "tg_complex.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define TG_SPECTRUM_MVE 1
#include "tg_spectrum_mve.h"
#else
#define TG_SPECTRUM_MVE 0
#endif

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TG_SPECTRUM_DSP 1
#else
#define TG_SPECTRUM_DSP 0
#endif

/** value * weight / 2^16, rounded down. */
static inline int32_t tg_times_q16(int32_t value, int32_t weight)
{
#if TG_SPECTRUM_DSP
    int32_t result;
    __asm__("smulwb %0, %1, %2" : "=r"(result) : "r"(value), "r"(weight));
    return result;
#else
    return (int32_t)(((int64_t)value * (int16_t)weight) >> 16);
#endif
}

/** The same with the upper half of a rotation. */
static inline int32_t tg_times_sine(int32_t value, int32_t rotation)
{
#if TG_SPECTRUM_DSP
    int32_t result;
    __asm__("smulwt %0, %1, %2" : "=r"(result) : "r"(value), "r"(rotation));
    return result;
#else
    return (int32_t)(((int64_t)value * (rotation >> 16)) >> 16);
#endif
}

/** Half of a number, turned back by a rotation. */
static inline struct tg_complex tg_turned(struct tg_complex value, int32_t rotation)
{
    struct tg_complex result;

#if TG_SPECTRUM_DSP
    result.re = tg_times_q16(value.re, rotation);
    __asm__("smlawt %0, %1, %2, %0" : "+r"(result.re) : "r"(value.im), "r"(rotation));
#else
    result.re = tg_times_q16(value.re, rotation) + tg_times_sine(value.im, rotation);
#endif
    result.im = tg_times_q16(value.im, rotation) - tg_times_sine(value.re, rotation);
    return result;
}

static inline struct tg_complex tg_plus(struct tg_complex a, struct tg_complex b)
{
    const struct tg_complex sum = {a.re + b.re, a.im + b.im};

    return sum;
}

static inline struct tg_complex tg_minus(struct tg_complex a, struct tg_complex b)
{
    const struct tg_complex difference = {a.re - b.re, a.im - b.im};

    return difference;
}

static inline struct tg_complex tg_doubled(struct tg_complex a)
{
    const struct tg_complex twice = {a.re * 2, a.im * 2};

    return twice;
}

/** Four points `apart`, from the sums and differences of two transforms; those of the second are turned already. */
static inline void tg_combine(struct tg_complex *points, int32_t apart, struct tg_complex low,
    struct tg_complex low_difference, struct tg_complex high, struct tg_complex high_difference)
{
    points[0] = tg_plus(low, high);
    points[apart].re = low_difference.re + high_difference.im;
    points[apart].im = low_difference.im - high_difference.re;
    points[2 * apart] = tg_minus(low, high);
    points[3 * apart].re = low_difference.re - high_difference.im;
    points[3 * apart].im = low_difference.im + high_difference.re;
}

/** Two steps of the transform at four points. */
static inline void tg_butterfly(struct tg_complex *points, int32_t apart, const int32_t turns[3])
{
    const struct tg_complex a = points[0];
    const struct tg_complex b = tg_doubled(tg_turned(points[apart], turns[1]));
    const struct tg_complex c = tg_turned(points[2 * apart], turns[0]);
    const struct tg_complex d = tg_turned(points[3 * apart], turns[2]);

    tg_combine(points, apart, tg_plus(a, b), tg_minus(a, b), tg_doubled(tg_plus(c, d)), tg_doubled(tg_minus(c, d)));
}

/** The same where nothing has to be turned. */
static inline void tg_first_butterfly(struct tg_complex *points, int32_t apart)
{
    const struct tg_complex a = points[0];
    const struct tg_complex b = points[apart];
    const struct tg_complex c = points[2 * apart];
    const struct tg_complex d = points[3 * apart];

    tg_combine(points, apart, tg_plus(a, b), tg_minus(a, b), tg_plus(c, d), tg_minus(c, d));
}

/** Whether a power of two is an odd one: 2, 8, 32, .. */
static inline int32_t tg_is_odd_power(int32_t count)
{
    return ((uint32_t)count & 0xAAAAAAAAU) != 0;
}

/** The number behind a reversed one, below a power of two; 0 behind the last. */
static inline int32_t tg_reversed_next(int32_t reversed, int32_t count)
{
    int32_t bit = count / 2;

    for (; (reversed & bit) != 0; bit /= 2) {
        reversed ^= bit;
    }
    return reversed | bit;
}

/** Transforms of all points from those of `apart` points each; `turns` as in struct tg_log_mel. */
static inline void tg_transform(struct tg_complex *points, int32_t count, int32_t apart, const int32_t *turns)
{
    const struct tg_complex *const end = points + count;

    for (; apart < count; apart *= 4) {
        const int32_t *turn = turns;

#if TG_SPECTRUM_MVE
        if (apart == 2 && count >= 8 * TG_LANES) {
            tg_transform_pairs_mve(points, count, turns);
            continue;
        }
        if (apart >= TG_LANES) {
            tg_transform_step_mve(points, count, apart, turns);
            continue;
        }
#endif
        for (struct tg_complex *at = points; at < end; at += 4 * apart) {
            tg_first_butterfly(at, apart);
        }
        for (int32_t i = 1; i < apart; i++) {
            turn += 3 * (count / 4 / apart);
            for (struct tg_complex *at = points + i; at < end; at += 4 * apart) {
                tg_butterfly(at, apart, turn);
            }
        }
    }
}

/** A power takes the place of a point: its lower half that of the real part. */
static inline void tg_put_power(struct tg_complex *point, int32_t re, int32_t im)
{
    const uint64_t power = (uint64_t)((int64_t)re * re) + (uint64_t)((int64_t)im * im);

    point->re = (int32_t)(uint32_t)power;
    point->im = (int32_t)(uint32_t)(power >> 32);
}

/** Points become the powers of the real numbers' transform; bin 0 and that of half the sampling rate are not made. */
static inline void tg_powers(struct tg_complex *points, int32_t count, const int32_t *halves)
{
    int32_t i = 1;

#if TG_SPECTRUM_MVE
    for (; i + TG_LANES <= count / 2; i += TG_LANES) {
        tg_four_powers_mve(points, count, i, halves);
    }
#endif
    for (; i < count / 2; i++) {
        const struct tg_complex low = points[i];
        const struct tg_complex high = points[count - i];
        const struct tg_complex even = {(low.re + high.re) >> 1, (low.im - high.im) >> 1};
        const struct tg_complex odd = {low.im + high.im, high.re - low.re};
        const struct tg_complex turned = tg_turned(odd, halves[i]);

        tg_put_power(points + i, even.re + turned.re, even.im + turned.im);
        tg_put_power(points + count - i, even.re - turned.re, turned.im - even.im);
    }
    tg_put_power(points + count / 2, points[count / 2].re, points[count / 2].im);
}

/** Sums of powers. */
struct tg_sums {
    uint64_t whole;
    uint64_t weighted; /**< with weights of Q15, rounded down */
};

static inline struct tg_sums tg_weighted(const struct tg_complex *powers, const int16_t *weights, int32_t count)
{
    struct tg_sums sums = {0, 0};
    uint64_t high = 0;
    uint64_t low = 0;
    int32_t i = 0;

#if TG_SPECTRUM_MVE
    {
        const struct tg_partial_sums most = tg_weighted_mve(powers, weights, count / TG_LANES * TG_LANES);

        sums.whole = most.whole;
        low = most.low;
        high = most.high;
        i = count / TG_LANES * TG_LANES;
    }
#endif
    for (; i < count; i++) {
        const uint32_t weight = (uint32_t)weights[i];
        const uint32_t lower = (uint32_t)powers[i].re;
        const uint32_t upper = (uint32_t)powers[i].im;

        low += (uint64_t)lower * weight;
        high += (uint64_t)upper * weight;
        sums.whole += (uint64_t)upper << 32 | lower;
    }
    sums.weighted = (high << 17) + (low >> 15);
    return sums;
}

#endif
