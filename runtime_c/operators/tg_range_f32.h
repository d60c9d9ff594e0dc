/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Smallest and largest of float32 numbers and 0, by their bits: without a floating-point unit that is as fast.
 */
#ifndef TG_RANGE_F32_H
#define TG_RANGE_F32_H

#include <stdint.h>
#include <string.h>

#include "tg_dynamic.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#endif

#define TG_INFINITY_BITS 0x7f800000u
#define TG_SIGN_BIT 0x80000000u

/** Bits of the smallest and of the largest number. As signed integers positive numbers are in order and negative ones
 * below them, as unsigned ones negative numbers are in order, the smallest one last. */
struct tg_range_bits {
    uint32_t smallest;
    int32_t largest;
};

#define TG_RANGE_OF_ZERO ((struct tg_range_bits){TG_SIGN_BIT, 0})

static inline struct tg_range_bits tg_range_with(struct tg_range_bits range, float value)
{
    uint32_t bits;
    int32_t number;

    memcpy(&bits, &value, sizeof bits);
    memcpy(&number, &value, sizeof number);
    range.smallest = bits > range.smallest ? bits : range.smallest;
    range.largest = number > range.largest ? number : range.largest;
    return range;
}

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

static inline struct tg_range_bits tg_range_bits_of(const float *values, int32_t size)
{
    const uint32_t *const words = (const uint32_t *)(const void *)values;
    uint32x4_t smallest = vdupq_n_u32(TG_SIGN_BIT);
    int32x4_t largest = vdupq_n_s32(0);

    for (int32_t i = 0; i < size; i += 4) {
        const uint32x4_t bits = vldrwq_z_u32(words + i, vctp32q((uint32_t)(size - i))); /* 0 behind the end */
        smallest = vmaxq_u32(smallest, bits);
        largest = vmaxq_s32(largest, vreinterpretq_s32_u32(bits));
    }
    return (struct tg_range_bits){vmaxvq_u32(TG_SIGN_BIT, smallest), vmaxvq_s32(0, largest)};
}

#else

static inline struct tg_range_bits tg_range_bits_of(const float *values, int32_t size)
{
    struct tg_range_bits range = TG_RANGE_OF_ZERO;

    for (int32_t i = 0; i < size; i++) {
        range = tg_range_with(range, values[i]);
    }
    return range;
}

#endif

/** The range without NaN of numbers whose bits are within these. */
static inline struct tg_range tg_range_of_bits(struct tg_range_bits bits, const float *values, int32_t size)
{
    struct tg_range range;

    if ((uint32_t)bits.largest > TG_INFINITY_BITS || bits.smallest > (TG_SIGN_BIT | TG_INFINITY_BITS)) {
        bits = TG_RANGE_OF_ZERO;
        for (int32_t i = 0; i < size; i++) {
            bits = values[i] == values[i] ? tg_range_with(bits, values[i]) : bits;
        }
    }
    memcpy(&range.smallest, &bits.smallest, sizeof range.smallest);
    memcpy(&range.largest, &bits.largest, sizeof range.largest);
    return range;
}

/** The range without NaN. */
static inline struct tg_range tg_range_of(const float *values, int32_t size)
{
    return tg_range_of_bits(tg_range_bits_of(values, size), values, size);
}

#endif
