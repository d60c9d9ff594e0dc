/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What codes of weights and of their scales stand for, in float32, exactly.
 */
#ifndef TG_CODED_NUMBERS_H
#define TG_CODED_NUMBERS_H

#include <stddef.h>
#include <string.h>

#include "tg_coded.h"

/** A small float: where its exponent is 0, it counts steps of the smallest one. */
struct tg_small_float {
    uint32_t sign;     /**< the bit of the sign */
    int32_t shift;     /**< of exponent and mantissa to where float32 has them */
    uint32_t exponent; /**< added to that of float32 */
    float step;
};

static inline float tg_float_of_bits(uint32_t bits)
{
    float value;

    (void)memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float tg_small_float(uint32_t code, const struct tg_small_float *format)
{
    const uint32_t magnitude = code & (format->sign - 1U);
    const uint32_t wide = magnitude << format->shift;
    float value;

    if ((wide >> 23) == 0U) {
        value = (float)magnitude * format->step;
    } else {
        value = tg_float_of_bits(wide + (format->exponent << 23));
    }
    return (code & format->sign) != 0U ? -value : value;
}

/** The number of a code. */
static inline float tg_number_of(const struct tg_codes *codes, uint32_t code)
{
    static const struct tg_small_float e4m3 = {0x80U, 20, 120U, 0x1p-9f};
    static const struct tg_small_float e5m2 = {0x80U, 21, 112U, 0x1p-16f};
    float number;

    if (codes->bits < 8) {
        number = codes->levels[code];
    } else if (codes->number == TG_INT8) {
        number = (float)(int8_t)code;
    } else if (codes->number == TG_UINT8) {
        number = (float)code;
    } else {
        number = tg_small_float(code, codes->number == TG_E4M3 ? &e4m3 : &e5m2);
    }
    return number;
}

/** The number of the bits of a finite half. */
static inline float tg_half_of(uint32_t bits)
{
    static const struct tg_small_float half = {0x8000U, 13, 112U, 0x1p-24f};

    return tg_small_float(bits, &half);
}

/** The scale of a block. */
static inline float tg_scale_of(const struct tg_codes *codes, int32_t block)
{
    float scale;

    if (codes->scale_format == TG_SCALE_F32) {
        scale = ((const float *)codes->scales)[block];
    } else if (codes->scale_format == TG_SCALE_F16) {
        scale = tg_half_of(((const uint16_t *)codes->scales)[block]);
    } else {
        const uint32_t exponent = ((const uint8_t *)codes->scales)[block];
        scale = tg_float_of_bits(exponent == 0U ? 0x00400000U : exponent << 23);
    }
    return scale;
}

/** What is taken off the numbers of a block. */
static inline float tg_zero_of(const struct tg_codes *codes, int32_t block)
{
    return codes->zero_points == NULL ? 0.0f : tg_number_of(codes, codes->zero_points[block]);
}

/** The code that begins at a bit. */
static inline uint32_t tg_code_at(const struct tg_codes *codes, int32_t position)
{
    return ((uint32_t)codes->codes[position >> 3] >> (position & 7)) & ((1U << codes->bits) - 1U);
}

#endif
