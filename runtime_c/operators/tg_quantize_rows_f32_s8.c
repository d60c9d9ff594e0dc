/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_dynamic.h"
#include "tg_levels_f32.h"

#define MAGIC 12582912.0f /* 1.5 * 2^23: added to a number it leaves integers, halves to even, in the lowest bits */
#define MAGIC_BITS 0x4b400000

static int8_t level_of(float quotient, int32_t zero_point)
{
    const float shifted = (quotient > -TG_BEYOND ? quotient : -TG_BEYOND) + MAGIC; /* NaN goes down, too */
    int32_t bits;

    memcpy(&bits, &shifted, sizeof bits);
    return tg_saturated(bits - MAGIC_BITS + zero_point); /* large numbers have large bits */
}

static void quantize(const float *input, int32_t size, float scale, int32_t zero_point, int8_t *output)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = level_of(input[i] / scale, zero_point);
    }
}

#if TG_HAS_FLOAT_VECTORS

#define SURE 0.4999f /* products with 1 / scale are that near to quotients */

/** Vectors cannot divide: they multiply, and where a product is near the middle between two levels, it is divided. */
static void quantize_vectors(const float *input, int32_t size, float scale, int32_t zero_point, int8_t *output)
{
    const float inverse = 1.0f / scale;
    const float32x4_t near = vdupq_n_f32(SURE);

    for (; size >= 4; size -= 4) {
        const float32x4_t product = vmulq_n_f32(vldrwq_f32(input), inverse);
        const float32x4_t nearest = vrndnq_f32(product);
        const mve_pred16_t sure = vcmpgtq_f32(near, vabdq_f32(product, nearest)); /* "less" would hold for NaN */
        if (sure == 0xffff) {
            tg_store_levels(output, vaddq_n_s32(vcvtq_s32_f32(nearest), zero_point));
        } else {
            quantize(input, 4, scale, zero_point, output);
        }
        input += 4;
        output += 4;
    }
    quantize(input, size, scale, zero_point, output);
}

#else

#define quantize_vectors quantize

#endif

void tg_quantize_rows_f32_s8(
    const struct tg_rows *rows, const float *input, const float *scale, const int8_t *zero_point, int8_t *output)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size, output += rows->size) {
        if (tg_suits_vectors(scale[row])) {
            quantize_vectors(input, rows->size, scale[row], zero_point[row], output);
        } else {
            quantize(input, rows->size, scale[row], zero_point[row], output);
        }
    }
}
