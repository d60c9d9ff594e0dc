/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What quantizing kernels share.
 */
#ifndef TG_LEVELS_F32_H
#define TG_LEVELS_F32_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)
#include <arm_mve.h>
#define TG_HAS_FLOAT_VECTORS 1
#else
#define TG_HAS_FLOAT_VECTORS 0
#endif

#define TG_BEYOND 512.0f /* further than any level from any zero point */

/** The scale or inverse is far from where vectors would flush what counts to 0, or overflow. */
static inline int tg_suits_vectors(float scale)
{
    return TG_HAS_FLOAT_VECTORS && scale > 0x1p-74f && scale < 0x1p74f;
}

#if defined(__ARM_FEATURE_SAT)

static inline int8_t tg_saturated(int32_t level)
{
    int32_t saturated;
    __asm__("ssat %0, #8, %1" : "=r"(saturated) : "r"(level));
    return (int8_t)saturated;
}

#else

static inline int8_t tg_saturated(int32_t level)
{
    const int32_t raised = level > -128 ? level : -128;

    return (int8_t)(raised < 127 ? raised : 127);
}

#endif

#if TG_HAS_FLOAT_VECTORS

/** 4 levels, saturated. */
static inline void tg_store_levels(int8_t *output, int32x4_t levels)
{
    vstrbq_s32(output, vminq_s32(vmaxq_s32(levels, vdupq_n_s32(-128)), vdupq_n_s32(127)));
}

#endif

#endif
