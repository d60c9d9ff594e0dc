/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_pool.h"

static void largest_of_four(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    uint32_t largest = tg_word(from);

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            largest = tg_larger_bytes(largest, tg_word(from));
        }
    }
    memcpy(output, &largest, sizeof largest);
}

static void largest_of_one(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    int8_t largest = *from;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            largest = *from > largest ? *from : largest;
        }
    }
    *output = largest;
}

void tg_native_max_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_pool(layer, input, output, largest_of_four, largest_of_one);
}
