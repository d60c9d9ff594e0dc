/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "tg_dynamic.h"
#include "tg_levels_f32.h"

/** One half is added and the rest cut off, as LiteRT does it; NaN becomes -128. */
static int8_t level_of(float product, int32_t zero_point)
{
    const float raised = product > -TG_BEYOND ? product : -TG_BEYOND;
    const float limited = raised < TG_BEYOND ? raised : TG_BEYOND;
    const float half = copysignf(0.5f, limited);

    return tg_saturated((int32_t)(limited + half) + zero_point);
}

static void multiply(const float *input, int32_t size, float inverse, int32_t zero_point, int8_t *output)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = level_of(input[i] * inverse, zero_point);
    }
}

#if TG_HAS_FLOAT_VECTORS

static void multiply_vectors(const float *input, int32_t size, float inverse, int32_t zero_point, int8_t *output)
{
    const float32x4_t least = vdupq_n_f32(-TG_BEYOND);
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    const uint32x4_t half = vreinterpretq_u32_f32(vdupq_n_f32(0.5f));

    for (; size >= 4; size -= 4) {
        const float32x4_t product = vmulq_n_f32(vldrwq_f32(input), inverse);
        const float32x4_t value = vmaxnmq_f32(product, least); /* NaN becomes the least */
        const uint32x4_t own_half = vorrq_u32(vandq_u32(vreinterpretq_u32_f32(value), sign), half);
        const float32x4_t shifted = vaddq_f32(value, vreinterpretq_f32_u32(own_half));
        const int32x4_t level = vminq_s32(vcvtq_s32_f32(shifted), vdupq_n_s32((int32_t)TG_BEYOND));
        tg_store_levels(output, vaddq_n_s32(level, zero_point));
        input += 4;
        output += 4;
    }
    multiply(input, size, inverse, zero_point, output);
}

#else

#define multiply_vectors multiply

#endif

void tg_multiply_rows_f32_s8(
    const struct tg_rows *rows, const float *input, const float *inverse, const int8_t *zero_point, int8_t *output)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size, output += rows->size) {
        if (tg_suits_vectors(inverse[row])) {
            multiply_vectors(input, rows->size, inverse[row], zero_point[row], output);
        } else {
            multiply(input, rows->size, inverse[row], zero_point[row], output);
        }
    }
}
