/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of the variants of tg_native_gemm that multiply two pixels at once: as assembly for RISC-V, else in C.
 */
#ifndef TG_NATIVE_GEMM_TWIN_BODY_H
#define TG_NATIVE_GEMM_TWIN_BODY_H

#include "tg_native_gemm_body.h"

#if TG_NATIVE_RV32

#include "tg_native_gemm_twin_rv32.h"

#define TG_TWIN_FUNCTION(name, IS_RELU) TG_TWIN_RV32_##IS_RELU(name)

#else

#define TG_TWIN_QUADS 32 /* that a word of bits is for */

/* Words of the weights of a pair. */
static inline int32_t tg_twin_words(int32_t quads)
{
    return 2 * quads + (quads + TG_TWIN_QUADS - 1) / TG_TWIN_QUADS;
}

/* Sums of two pixels, the second one 65536 times, and those of the second one. */
struct tg_twin {
    uint32_t both;
    uint32_t second;
};

static inline struct tg_twin tg_twin_added(struct tg_twin sums, uint32_t products)
{
    return (struct tg_twin){sums.both + products, sums.second + (uint32_t)((int32_t)(products + 0x8000U) >> 16)};
}

/* A channel of two pixels, whose words stand 2 words apart. */
static inline struct tg_twin tg_twin_sums(const int32_t *stream, const uint32_t *twins, int32_t quads, int32_t channel)
{
    const uint32_t bias = (uint32_t)stream[channel];
    const int32_t *from = stream + 2;
    struct tg_twin sums = {bias + (bias << 16), bias};
    uint32_t parted = 0;

    for (int32_t quad = 0; quad < quads; quad++, from += 2, parted <<= 1) {
        const int8_t *weights;
        if (quad % TG_TWIN_QUADS == 0) {
            parted = (uint32_t)*from++;
        }
        weights = (const int8_t *)from + channel;
        uint32_t products = tg_mac(weights[2], (int32_t)twins[2], tg_mac(weights[0], (int32_t)twins[0], 0));
        if (parted >> 31 != 0) {
            sums = tg_twin_added(sums, products);
            products = 0;
        }
        products = tg_mac(weights[6], (int32_t)twins[6], tg_mac(weights[4], (int32_t)twins[4], products));
        sums = tg_twin_added(sums, products);
        twins += 8;
    }
    return sums;
}

static inline void tg_twin_pair(
    const int32_t *stream, const uint32_t *twins, int32_t quads, int8_t *output, int32_t pixel_step, int32_t is_relu)
{
    const int32_t *const scale = stream + 2 + tg_twin_words(quads);

    for (int32_t i = 0; i < 2; i++, twins++, output += 2 * pixel_step) {
        for (int32_t channel = 0; channel < 2; channel++) {
            const struct tg_twin sums = tg_twin_sums(stream, twins, quads, channel);
            const int32_t *const own = scale + (is_relu ? 2 : 3) * channel;
            output[channel] = tg_gemm_output(sums.both - (sums.second << 16), own, is_relu);
            output[pixel_step + channel] = tg_gemm_output(sums.second, own, is_relu);
        }
    }
}

/* clang-format off */

#define TG_TWIN_FUNCTION(name, IS_RELU)                                                                                \
    void name(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output,            \
        int32_t pixel_step)                                                                                            \
    {                                                                                                                  \
        for (; pairs > 0; pairs--, output += 2) {                                                                      \
            tg_twin_pair(stream, columns, quads, output, pixel_step, IS_RELU);                                         \
            stream += 2 + tg_twin_words(quads) + (IS_RELU ? 4 : 6);                                                    \
        }                                                                                                              \
    }

/* clang-format on */

#endif

#endif
