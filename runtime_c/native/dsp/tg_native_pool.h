/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pooling, four channels at once.
 */
#ifndef TG_NATIVE_POOL_H
#define TG_NATIVE_POOL_H

#include "tg_native.h"
#include "tg_native_arithmetic.h"
#include "tg_native_names.h"

/** The part of a window that lies inside the input. */
struct tg_native_window {
    int32_t rows;
    int32_t columns;
    int32_t count;    /**< rows * columns */
    int32_t channels; /**< bytes from pixel to pixel */
    int32_t row_skip; /**< bytes from behind a row of the window to the next one */
};

/** Reduces some channels of a window. */
typedef void tg_native_reduce(const int8_t *from, const struct tg_native_window *window, int8_t *output);

/** All windows and channels. */
void tg_native_pool(const struct tg_native_pool *layer, const int8_t *input, int8_t *output,
    tg_native_reduce *reduce_four, tg_native_reduce *reduce_one);

/** Adds bytes 0 and 2, or 1 and 3, to two 16-bit sums. */
static inline uint32_t tg_add_even_bytes(uint32_t sums, uint32_t word)
{
#if TG_NATIVE_DSP
    uint32_t result;
    __asm__("sxtab16 %0, %1, %2" : "=r"(result) : "r"(sums), "r"(word));
    return result;
#else
    return tg_pair(tg_low(sums) + (int8_t)(uint8_t)word, tg_high(sums) + (int8_t)(uint8_t)(word >> 16));
#endif
}

static inline uint32_t tg_add_odd_bytes(uint32_t sums, uint32_t word)
{
#if TG_NATIVE_DSP
    uint32_t result;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(result) : "r"(sums), "r"(word));
    return result;
#else
    return tg_add_even_bytes(sums, word >> 8);
#endif
}

/** The larger one of each two signed bytes. */
static inline uint32_t tg_larger_bytes(uint32_t a, uint32_t b)
{
#if TG_NATIVE_DSP
    uint32_t result;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(a), "r"(b));
    return result;
#else
    uint32_t result = 0;
    for (int32_t bits = 0; bits < 32; bits += 8) {
        const uint32_t mask = 0xffU << bits;
        result |= ((int8_t)(uint8_t)(a >> bits) >= (int8_t)(uint8_t)(b >> bits) ? a : b) & mask;
    }
    return result;
#endif
}

#endif
