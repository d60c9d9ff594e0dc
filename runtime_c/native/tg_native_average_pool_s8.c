/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_pool.h"

static inline int8_t mean(int32_t sum, const struct tg_native_window *window)
{
    const int32_t half = window->count / 2;

    return (int8_t)((sum > 0 ? sum + half : sum - half) / window->count); /* halves away from zero */
}

/* Four channels: sums of 16 bits hold 255 values. */
static void average_four(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    uint32_t even = 0;
    uint32_t odd = 0;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            const uint32_t word = tg_word(from);
            even = tg_add_even_bytes(even, word);
            odd = tg_add_odd_bytes(odd, word);
        }
    }
    output[0] = mean(tg_low(even), window);
    output[1] = mean(tg_low(odd), window);
    output[2] = mean(tg_high(even), window);
    output[3] = mean(tg_high(odd), window);
}

static void average_one(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    int32_t sum = 0;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            sum += *from;
        }
    }
    *output = mean(sum, window);
}

void tg_native_average_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_pool(layer, input, output, average_four, average_one);
}
