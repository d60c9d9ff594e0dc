/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 with int16 vectors, several elements at a time where the core has instructions for it.
 */
#ifndef TG_DOT_S8_S16_H
#define TG_DOT_S8_S16_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#endif

/** What is left of four weight vectors: `size` elements of each. */
static inline void tg_add_left_s8_s16(
    const int8_t *input, int32_t offset, const int16_t *weights, int32_t size, int32_t sums[4])
{
    for (int32_t i = 0; i < size; i++) {
        const int32_t number = input[i] + offset;

        sums[0] += number * weights[i];
        sums[1] += number * weights[size + i];
        sums[2] += number * weights[2 * size + i];
        sums[3] += number * weights[3 * size + i];
    }
}

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#define TG_DOT_CHUNK 8 /* elements of one vector that stand beside those of the other three */

/** Where element `i` of a weight vector of `size` stands. */
static inline int32_t tg_place_s16(int32_t i, int32_t size)
{
    (void)size;
    return i;
}

static inline int32_t tg_dot_s8_s16(const int8_t *input, int32_t offset, const int16_t *weights, int32_t size)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < size; i += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)(size - i));
        const int16x8_t numbers = vaddq_n_s16(vldrbq_z_s16(input + i, lanes), (int16_t)offset);

        sum = vmladavaq_p_s16(sum, numbers, vldrhq_z_s16(weights + i, lanes), lanes);
    }
    return sum;
}

/** Adds products with four weight vectors: their chunks stand beside each other. */
static inline void tg_add_4_s8_s16(
    const int8_t *input, int32_t offset, const int16_t *weights, int32_t size, int32_t sums[4])
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
    int32_t left = size;

    for (; left >= TG_DOT_CHUNK; left -= TG_DOT_CHUNK) {
        const int16x8_t numbers = vaddq_n_s16(vldrbq_s16(input), (int16_t)offset);

        sum0 = vmladavaq_s16(sum0, numbers, vldrhq_s16(weights));
        sum1 = vmladavaq_s16(sum1, numbers, vldrhq_s16(weights + 8));
        sum2 = vmladavaq_s16(sum2, numbers, vldrhq_s16(weights + 16));
        sum3 = vmladavaq_s16(sum3, numbers, vldrhq_s16(weights + 24));
        input += TG_DOT_CHUNK;
        weights += 4 * TG_DOT_CHUNK;
    }
    if (left > 0) {
        const mve_pred16_t lanes = vctp16q((uint32_t)left);
        const int16x8_t numbers = vaddq_n_s16(vldrbq_z_s16(input, lanes), (int16_t)offset);

        sum0 = vmladavaq_p_s16(sum0, numbers, vldrhq_z_s16(weights, lanes), lanes);
        sum1 = vmladavaq_p_s16(sum1, numbers, vldrhq_z_s16(weights + left, lanes), lanes);
        sum2 = vmladavaq_p_s16(sum2, numbers, vldrhq_z_s16(weights + 2 * left, lanes), lanes);
        sum3 = vmladavaq_p_s16(sum3, numbers, vldrhq_z_s16(weights + 3 * left, lanes), lanes);
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)

#define TG_DOT_CHUNK 4 /* elements of one vector that stand beside those of the other three */

/** Of four weights the two in the middle change places, as inputs are spread to even and odd ones. */
static inline int32_t tg_place_s16(int32_t i, int32_t size)
{
    const int32_t within = i & 3;

    return i < (size & ~3) && (within == 1 || within == 2) ? i ^ 3 : i;
}

static inline uint32_t tg_pair_s16(const int16_t *weights)
{
    uint32_t pair;

    (void)memcpy(&pair, weights, sizeof pair); /* one load */
    return pair;
}

static inline int32_t tg_dot_s8_s16(const int8_t *input, int32_t offset, const int16_t *weights, int32_t size)
{
    const uint32_t offsets = ((uint32_t)offset & 0xFFFFU) * 0x00010001U;
    int32_t sum = 0;
    int32_t i = 0;

    for (; i + 4 <= size; i += 4) {
        uint32_t word;
        uint32_t even;
        uint32_t odd;

        (void)memcpy(&word, input + i, sizeof word);
        __asm__("sxtab16 %0, %1, %2" : "=r"(even) : "r"(offsets), "r"(word));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(odd) : "r"(offsets), "r"(word));
        __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(tg_pair_s16(weights + i)));
        __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(tg_pair_s16(weights + i + 2)));
    }
    for (; i < size; i++) {
        sum += (input[i] + offset) * weights[i];
    }
    return sum;
}

/** The next four weights, which stand at a multiple of four bytes, times four numbers. */
#define TG_ADD_QUAD(sum)                                                                                               \
    do {                                                                                                               \
        uint32_t evens;                                                                                                \
        uint32_t odds;                                                                                                 \
        __asm__ volatile("ldrd %0, %1, [%2], #8" : "=&r"(evens), "=&r"(odds), "+r"(weights) : : "memory");             \
        __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(evens));                                           \
        __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(odds));                                             \
    } while (0)

/** Adds products with four weight vectors: their chunks stand beside each other, at multiples of four bytes. */
static inline void tg_add_4_s8_s16(
    const int8_t *input, int32_t offset, const int16_t *weights, int32_t size, int32_t sums[4])
{
    const uint32_t offsets = ((uint32_t)offset & 0xFFFFU) * 0x00010001U;
    const int8_t *const end = input + (size & ~3);
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];

    while (input != end) {
        uint32_t word;
        uint32_t even;
        uint32_t odd;

        (void)memcpy(&word, input, sizeof word);
        input += 4;
        __asm__("sxtab16 %0, %1, %2" : "=r"(even) : "r"(offsets), "r"(word));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(odd) : "r"(offsets), "r"(word));
        TG_ADD_QUAD(sum0);
        TG_ADD_QUAD(sum1);
        TG_ADD_QUAD(sum2);
        TG_ADD_QUAD(sum3);
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    tg_add_left_s8_s16(input, offset, weights, size & 3, sums);
}

#else

/** Where element `i` of a weight vector of `size` stands. */
static inline int32_t tg_place_s16(int32_t i, int32_t size)
{
    (void)size;
    return i;
}

static inline int32_t tg_dot_s8_s16(const int8_t *input, int32_t offset, const int16_t *weights, int32_t size)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < size; i++) {
        sum += (input[i] + offset) * weights[i];
    }
    return sum;
}

#define TG_DOT_CHUNK 4 /* elements of one vector that stand beside those of the other three */

/** Adds products with four weight vectors: their chunks stand beside each other. */
static inline void tg_add_4_s8_s16(
    const int8_t *input, int32_t offset, const int16_t *weights, int32_t size, int32_t sums[4])
{
    for (; size >= TG_DOT_CHUNK; size -= TG_DOT_CHUNK) {
        tg_add_left_s8_s16(input, offset, weights, TG_DOT_CHUNK, sums);
        input += TG_DOT_CHUNK;
        weights += 4 * TG_DOT_CHUNK;
    }
    tg_add_left_s8_s16(input, offset, weights, size, sums);
}

#endif

#endif
