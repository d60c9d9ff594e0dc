/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 vectors, several elements at a time where the core has instructions for it.
 */
#ifndef TG_DOT_S8_H
#define TG_DOT_S8_H

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

/** Adds the products of one vector with four others, which begin `stride` elements apart, to four sums. */
static inline void tg_add_4x1(
    const int8_t *weights, int32_t stride, const int8_t *input, int32_t features, int32_t *sums)
{
    int32_t s0 = sums[0];
    int32_t s1 = sums[1];
    int32_t s2 = sums[2];
    int32_t s3 = sums[3];
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) { /* one pointer for all weights: there are few registers */
        const tg_elements b = tg_load(input, left);

        s0 = tg_multiply(s0, tg_load(weights, left), b);
        s1 = tg_multiply(s1, tg_load(weights + stride, left), b);
        s2 = tg_multiply(s2, tg_load(weights + 2 * stride, left), b);
        s3 = tg_multiply(s3, tg_load(weights + 3 * stride, left), b);
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        s0 = tg_plus_product(s0, weights[0], *input);
        s1 = tg_plus_product(s1, weights[stride], *input);
        s2 = tg_plus_product(s2, weights[2 * stride], *input);
        s3 = tg_plus_product(s3, weights[3 * stride], *input++);
        weights++;
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/** A sum with the product of two vectors. */
static inline int32_t tg_add_dot(int32_t sum, const int8_t *weights, const int8_t *input, int32_t features)
{
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) {
        sum = tg_multiply(sum, tg_load(weights, left), tg_load(input, left));
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        sum = tg_plus_product(sum, *weights++, *input++);
    }
    return sum;
}

/** The product of two vectors. */
static inline int32_t tg_dot(const int8_t *weights, const int8_t *input, int32_t features)
{
    return tg_add_dot(0, weights, input, features);
}

#endif
