/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Four elements of a vector, to be multiplied with two pairs of weights.
 */
#ifndef TG_SQUEEZED_QUAD_H
#define TG_SQUEEZED_QUAD_H

#include <stdint.h>

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)

#include <string.h>

typedef struct {
    uint32_t even; /* elements 0 and 2 as 16-bit numbers */
    uint32_t odd;  /* 1 and 3 */
} tg_quad;

/* Volatile keeps elements and weights from being prepared early, which takes more registers than there are. */
static inline tg_quad tg_quad_at(const int8_t *values)
{
    tg_quad quad;
    uint32_t word;

    memcpy(&word, values, sizeof word); /* one load */
    __asm__ volatile("sxtb16 %0, %1" : "=r"(quad.even) : "r"(word));
    __asm__ volatile("sxtb16 %0, %1, ror #8" : "=r"(quad.odd) : "r"(word));
    return quad;
}

/* A sum with the products of elements 0 and 2, and of 1 and 3: numbers of 16 bits in the halves of words. */
static inline int32_t tg_plus_quad(int32_t sum, tg_quad quad, uint32_t even, uint32_t odd)
{
    __asm__ volatile("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(quad.even));
    __asm__ volatile("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(quad.odd));
    return sum;
}

#else

typedef const int8_t *tg_quad;

static inline tg_quad tg_quad_at(const int8_t *values)
{
    return values;
}

/* The products of two numbers of 16 bits, in the halves of a word. */
static inline int32_t tg_of_halves(uint32_t halves, int32_t lower, int32_t upper)
{
    return (int16_t)(uint16_t)halves * lower + ((int32_t)halves >> 16) * upper;
}

static inline int32_t tg_plus_quad(int32_t sum, tg_quad quad, uint32_t even, uint32_t odd)
{
    return sum + tg_of_halves(even, quad[0], quad[2]) + tg_of_halves(odd, quad[1], quad[3]);
}

#endif

#endif
