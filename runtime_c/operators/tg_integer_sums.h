/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where sums of products of stored values start, so that zero points are taken off in the end.
 */
#ifndef TG_INTEGER_SUMS_H
#define TG_INTEGER_SUMS_H

#include <string.h>

#include "tg_integer.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#endif

/** Sum of int8 numbers. */
static inline int32_t tg_sum_of_bytes(const int8_t *values, int32_t count)
{
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
    int32_t sum = 0;

    for (int32_t i = 0; i < count; i += 16) {
        sum = vaddvaq_s8(sum, vldrbq_z_s8(values + i, vctp8q((uint32_t)(count - i))));
    }
    return sum;
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
    const uint32_t none = 0;
    uint32_t raised = 0; /* each byte 128 higher: differences from 0 are added up four at a time */
    int32_t i = 0;

    for (; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, values + i, sizeof word); /* one load */
        word ^= 0x80808080u;
        __asm__("usada8 %0, %1, %2, %0" : "+r"(raised) : "r"(word), "r"(none));
    }
    int32_t sum = (int32_t)raised - 128 * i;
    for (; i < count; i++) {
        sum += values[i];
    }
    return sum;
#else
    int32_t sum = 0;

    for (int32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
#endif
}

/** sums = factor * factors + other * others: wrapping around, as what is added later wraps back. `others` may be NULL,
 * or with `step` 0 the same one for all. */
static inline void tg_start_sums(int32_t count, int32_t factor, const int32_t *factors, int32_t other,
    const int8_t *others, int32_t step, int32_t *sums)
{
    const uint32_t constant = others && step == 0 ? (uint32_t)other * (uint32_t)*others : 0u;
    const int has_others = others && step != 0;

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
    const int32x4_t constants = vdupq_n_s32((int32_t)constant);

    for (int32_t i = 0; i < count; i += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(count - i));
        int32x4_t start = vmlaq_n_s32(constants, vldrwq_z_s32(factors + i, lanes), factor);
        if (has_others) {
            start = vmlaq_n_s32(start, vldrbq_z_s32(others + i, lanes), other);
        }
        vstrwq_p_s32(sums + i, start, lanes);
    }
#else
    if (has_others) {
        for (int32_t i = 0; i < count; i++) {
            sums[i] = (int32_t)((uint32_t)factor * (uint32_t)factors[i] + (uint32_t)other * (uint32_t)others[i]);
        }
    } else {
        for (int32_t i = 0; i < count; i++) {
            sums[i] = (int32_t)((uint32_t)factor * (uint32_t)factors[i] + constant);
        }
    }
#endif
}

/** For one vector: - zero_point * sum(weights) - their zero point * (sum(vector) - elements * zero_point). */
static inline void tg_start_integer_sums(const struct tg_integer_filters *filters, int32_t first, int32_t count,
    const int8_t *vector, int32_t zero_point, int32_t *sums)
{
    const int8_t *zero_points = filters->zero_points;
    int32_t centered = 0;

    if (zero_points) {
        zero_points += first * filters->zero_point_step;
        centered = tg_sum_of_bytes(vector, filters->elements) - filters->elements * zero_point;
    }
    tg_start_sums(count, -zero_point, filters->sums + first, -centered, zero_points, filters->zero_point_step, sums);
}

#endif
