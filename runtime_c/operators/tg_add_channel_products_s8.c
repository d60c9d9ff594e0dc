/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of two vectors with two units at a time, of a vector that is left with four units.
 */
#include <string.h>

#include "tg_partial_products.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include <arm_mve.h>

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
    return sum + a * b;
}

#endif

/* Two vectors with two units; the sums of the second vector lie `units` further. */
static void tg_add_2x2(const int8_t *weights, const int8_t *input, int32_t features, int32_t units, int32_t *sums)
{
    const int8_t *w0 = weights;
    const int8_t *w1 = weights + features;
    const int8_t *x0 = input;
    const int8_t *x1 = input + features;
    int32_t s00 = sums[0];
    int32_t s01 = sums[1];
    int32_t s10 = sums[units];
    int32_t s11 = sums[units + 1];
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) {
        const tg_elements a0 = tg_load(w0, left);
        const tg_elements a1 = tg_load(w1, left);
        const tg_elements b0 = tg_load(x0, left);
        const tg_elements b1 = tg_load(x1, left);
        s00 = tg_multiply(s00, a0, b0);
        s01 = tg_multiply(s01, a1, b0);
        s10 = tg_multiply(s10, a0, b1);
        s11 = tg_multiply(s11, a1, b1);
        w0 += TG_STEP;
        w1 += TG_STEP;
        x0 += TG_STEP;
        x1 += TG_STEP;
    }
    for (; left > 0; left--) {
        s00 += *w0 * *x0;
        s01 += *w1 * *x0;
        s10 += *w0++ * *x1;
        s11 += *w1++ * *x1++;
        x0++;
    }
    sums[0] = s00;
    sums[1] = s01;
    sums[units] = s10;
    sums[units + 1] = s11;
}

/* One vector with four units. */
static void tg_add_4x1(const int8_t *weights, const int8_t *input, int32_t features, int32_t *sums)
{
    const int8_t *w0 = weights;
    const int8_t *w1 = w0 + features;
    const int8_t *w2 = w1 + features;
    const int8_t *w3 = w2 + features;
    int32_t s0 = sums[0];
    int32_t s1 = sums[1];
    int32_t s2 = sums[2];
    int32_t s3 = sums[3];
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) {
        const tg_elements b = tg_load(input, left);
        s0 = tg_multiply(s0, tg_load(w0, left), b);
        s1 = tg_multiply(s1, tg_load(w1, left), b);
        s2 = tg_multiply(s2, tg_load(w2, left), b);
        s3 = tg_multiply(s3, tg_load(w3, left), b);
        w0 += TG_STEP;
        w1 += TG_STEP;
        w2 += TG_STEP;
        w3 += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        s0 += *w0++ * *input;
        s1 += *w1++ * *input;
        s2 += *w2++ * *input;
        s3 += *w3++ * *input++;
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

static int32_t tg_dot(const int8_t *weights, const int8_t *input, int32_t features)
{
    int32_t sum = 0;
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) {
        sum = tg_multiply(sum, tg_load(weights, left), tg_load(input, left));
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        sum += *weights++ * *input++;
    }
    return sum;
}

void tg_add_channel_products_s8(const struct tg_channel_products *products, const int8_t *input, int32_t *sums)
{
    const int32_t units = products->units;
    const int32_t features = products->features;
    int32_t vector = 0;

    for (; vector + 2 <= products->vectors; vector += 2) {
        const int8_t *weights = products->weights;
        int32_t unit = 0;
        for (; unit + 2 <= units; unit += 2) {
            tg_add_2x2(weights, input, features, units, sums + unit);
            weights += 2 * features;
        }
        if (unit < units) {
            sums[unit] += tg_dot(weights, input, features);
            sums[units + unit] += tg_dot(weights, input + features, features);
        }
        input += 2 * features;
        sums += 2 * units;
    }
    if (vector < products->vectors) {
        const int8_t *weights = products->weights;
        int32_t unit = 0;
        for (; unit + 4 <= units; unit += 4) {
            tg_add_4x1(weights, input, features, sums + unit);
            weights += 4 * features;
        }
        for (; unit < units; unit++) {
            sums[unit] += tg_dot(weights, input, features);
            weights += features;
        }
    }
}
