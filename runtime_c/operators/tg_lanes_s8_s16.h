/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Elements of int8 that are multiplied with some of int16 at a time.
 */
#ifndef TG_LANES_S8_S16_H
#define TG_LANES_S8_S16_H

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#include <stdint.h>
#else
#include "tg_lanes_s8.h"
#endif

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#define TG_STEP 8
#define TG_FEWEST 1 /* zeros fill what is left */
typedef int16x8_t tg_elements;

/* A sum with a product. All sums wrap. */
static inline int32_t tg_plus_product(int32_t sum, int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)sum + (uint32_t)(a * b));
}

static inline tg_elements tg_load(const int8_t *values, int32_t left)
{
    return vldrbq_z_s16(values, vctp16q((uint32_t)left));
}

static inline tg_elements tg_load_values(const int16_t *values, int32_t left)
{
    return vldrhq_z_s16(values, vctp16q((uint32_t)left));
}

static inline int32_t tg_multiply(int32_t sum, tg_elements a, tg_elements b)
{
    return vmladavaq_s16(sum, a, b);
}

#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)

static inline tg_elements tg_load_values(const int16_t *values, int32_t left)
{
    uint32_t first;
    uint32_t second;
    tg_elements elements;
    (void)left;

    memcpy(&first, values, sizeof first); /* one load each */
    memcpy(&second, values + 2, sizeof second);
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(elements.even) : "r"(first), "r"(second));
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(elements.odd) : "r"(second), "r"(first));
    return elements;
}

#else

static inline tg_elements tg_load_values(const int16_t *values, int32_t left)
{
    (void)left;
    return *values;
}

#endif

#endif
