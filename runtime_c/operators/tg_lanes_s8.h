/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Elements of int8 that are multiplied at a time, with what instructions the core has for it.
 */
#ifndef TG_LANES_S8_H
#define TG_LANES_S8_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#endif

/* A sum with a product. All sums wrap. */
static inline int32_t tg_plus_product(int32_t sum, int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)sum + (uint32_t)(a * b));
}

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#define TG_STEP 16  /* elements at a time */
#define TG_FEWEST 1 /* zeros fill what is left */
typedef int8x16_t tg_elements;

static inline tg_elements tg_load(const int8_t *values, int32_t left)
{
    return left >= TG_STEP ? vldrbq_s8(values) : vldrbq_z_s8(values, vctp8q((uint32_t)left));
}

static inline int32_t tg_multiply(int32_t sum, tg_elements a, tg_elements b)
{
    return vmladavaq_s8(sum, a, b);
}

#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)

#define TG_STEP 4
#define TG_FEWEST 4

typedef struct {
    uint32_t even; /* elements 0 and 2 as 16-bit numbers */
    uint32_t odd;  /* 1 and 3 */
} tg_elements;

static inline tg_elements tg_load(const int8_t *values, int32_t left)
{
    tg_elements elements;
    uint32_t word;
    (void)left;

    memcpy(&word, values, sizeof word); /* one load */
    __asm__("sxtb16 %0, %1" : "=r"(elements.even) : "r"(word));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(elements.odd) : "r"(word));
    return elements;
}

static inline int32_t tg_multiply(int32_t sum, tg_elements a, tg_elements b)
{
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a.even), "r"(b.even));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a.odd), "r"(b.odd));
    return sum;
}

#else

#define TG_STEP 1
#define TG_FEWEST 1
typedef int32_t tg_elements;

static inline tg_elements tg_load(const int8_t *values, int32_t left)
{
    (void)left;
    return *values;
}

static inline int32_t tg_multiply(int32_t sum, tg_elements a, tg_elements b)
{
    return tg_plus_product(sum, a, b);
}

#endif

#endif
