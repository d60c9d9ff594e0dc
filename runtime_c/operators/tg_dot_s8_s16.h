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

#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)

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

#endif

#endif
