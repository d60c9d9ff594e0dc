/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 with int16 vectors in 64 bits, several elements at a time where the core has instructions for it.
 */
#ifndef TG_DOT_S8_WIDE_H
#define TG_DOT_S8_WIDE_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include <arm_mve.h>

/** Adds the product of two vectors to a sum. */
static inline int64_t tg_add_dot_wide(int64_t sum, const int8_t *weights, const int16_t *values, int32_t size)
{
    for (int32_t i = 0; i < size; i += 8) {
        const mve_pred16_t lanes = vctp16q((uint32_t)(size - i));

        sum = vmlaldavaq_p_s16(sum, vldrbq_z_s16(weights + i, lanes), vldrhq_z_s16(values + i, lanes), lanes);
    }
    return sum;
}

#else

/** Adds the product of two vectors to a sum. */
static inline int64_t tg_add_dot_wide(int64_t sum, const int8_t *weights, const int16_t *values, int32_t size)
{
    int32_t i = 0;

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
    for (; i + 4 <= size; i += 4) {
        uint32_t word;
        uint32_t pairs[2];
        uint32_t even;
        uint32_t odd;
        uint32_t evens;
        uint32_t odds;

        (void)memcpy(&word, weights + i, sizeof word);
        (void)memcpy(pairs, values + i, sizeof pairs);
        __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(word));
        __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(word));
        __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(evens) : "r"(pairs[0]), "r"(pairs[1]));
        __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(odds) : "r"(pairs[1]), "r"(pairs[0]));
        __asm__("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(even), "r"(evens));
        __asm__("smlald %Q0, %R0, %1, %2" : "+r"(sum) : "r"(odd), "r"(odds));
    }
#endif
    for (; i < size; i++) {
        sum += weights[i] * values[i];
    }
    return sum;
}

#endif

#endif
