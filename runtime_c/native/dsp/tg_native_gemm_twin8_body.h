/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_gemm_twin8: as assembly for Armv6-M, else in C.
 */
#ifndef TG_NATIVE_GEMM_TWIN8_BODY_H
#define TG_NATIVE_GEMM_TWIN8_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_gemm_twin8.h"
#include "tg_native_thumb1.h"

#if TG_NATIVE_THUMB1

#include "tg_native_gemm_twin8_thumb1.h"

#define TG_TWIN8_FUNCTION(name, IS_RELU) TG_TWIN8_THUMB1_##IS_RELU(name)

#else

#define TG_TWIN8_EIGHTS 16 /* that a word of bits is for */

/* Sums of two pixels, the second one 65536 times, and those of the second one. */
struct tg_twin8 {
    uint32_t both;
    uint32_t second;
};

/* Adds so many elements, whose products are parted together. */
static inline struct tg_twin8 tg_twin8_added(
    struct tg_twin8 sums, const int8_t *weights, const uint32_t *twins, int32_t elements)
{
    uint32_t products = 0;

    for (int32_t i = 0; i < elements; i++) {
        products = tg_mac(weights[8 * i], (int32_t)twins[2 * i], products);
    }
    return (struct tg_twin8){sums.both + products, sums.second + (uint32_t)((int32_t)(products + 0x8000U) >> 16)};
}

/* A channel of two pixels, whose words stand 2 words apart. */
static inline struct tg_twin8 tg_twin8_sums(
    const int8_t *weights, const int32_t *numbers, const uint32_t *twins, int32_t quads)
{
    const uint32_t bias = (uint32_t)numbers[0];
    struct tg_twin8 sums = {bias + (bias << 16), bias};
    int32_t parted = 2; /* where 8 elements are not whole */
    uint32_t bits = 0;

    for (int32_t element = 0; element < 4 * quads; element += parted) {
        if (element / 8 == quads / 2) {
            parted = 2;
        } else if (element % 8 == 0) {
            if (element / 8 % TG_TWIN8_EIGHTS == 0) {
                numbers++;
                bits = (uint32_t)*numbers;
            }
            parted = 8;
            if (bits >> 31 != 0) {
                bits <<= 1;
                parted = 4 - (int32_t)(bits >> 31) * 2;
            }
            bits <<= 1;
        } else {
            /* within 8 elements that are parted */
        }
        sums = tg_twin8_added(sums, weights + 8 * element, twins + 2 * element, parted);
    }
    return sums;
}

static inline void tg_twin8_multiply(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t channels,
    int8_t *output, int32_t pixel_step, int32_t is_relu)
{
    const int32_t bit_words = (quads / 2 + TG_TWIN8_EIGHTS - 1) / TG_TWIN8_EIGHTS;
    const int32_t *numbers = stream;

    for (int32_t channel = 0; channel < channels; channel++, output++) {
        const int8_t *weights;
        if (channel % 8 == 0) {
            stream = numbers;
            numbers += 8 * quads;
        }
        weights = (const int8_t *)stream + channel % 8;
        for (int32_t pair = 0; pair < 2; pair++) {
            const struct tg_twin8 sums = tg_twin8_sums(weights, numbers, columns + pair, quads);
            const uint32_t apart[2] = {sums.both - (sums.second << 16), sums.second};
            const int32_t *const scale = numbers + 1 + bit_words;
            for (int32_t i = 0; i < 2; i++) {
                output[(2 * pair + i) * pixel_step] =
                    is_relu ? tg_linear((int32_t)apart[i], scale) : tg_rounded(tg_doubled((int32_t)apart[i]), scale);
            }
        }
        numbers += 1 + bit_words + (is_relu ? 2 : 3);
    }
}

#define TG_TWIN8_FUNCTION(name, IS_RELU)                                                                               \
    void name(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t channels, int8_t *output,         \
        int32_t pixel_step)                                                                                            \
    {                                                                                                                  \
        tg_twin8_multiply(stream, columns, quads, channels, output, pixel_step, IS_RELU);                              \
    }

#endif

#endif
