/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word: x0 + 65536 x1.
 */
#include "tg_native_blocks.h"

/* Four elements of two pixels, in the order of the weights; a word of the other two pixels is between any of them. */
static inline void join_four(const int8_t *a, const int8_t *b, uint32_t *to)
{
    to[0] = (uint32_t)(a[0] + b[0] * 65536);
    to[2] = (uint32_t)(a[2] + b[2] * 65536);
    to[4] = (uint32_t)(a[1] + b[1] * 65536);
    to[6] = (uint32_t)(a[3] + b[3] * 65536);
}

void tg_native_pack_pixels_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t depth = layer->depth;
    const int8_t *a = input + first * depth;
    const int8_t *const end = a + (depth & ~3);
    const int32_t rest = depth % 4;

    for (; a < end; a += 4, columns += 8) {
        join_four(a, a + depth, columns);
        join_four(a + 2 * depth, a + 3 * depth, columns + 1);
    }
    if (rest != 0) { /* zeros behind them */
        int8_t last[4][4] = {{0}};
        for (int32_t pixel = 0; pixel < 4; pixel++, a += depth) {
            for (int32_t i = 0; i < rest; i++) {
                last[pixel][i] = a[i];
            }
        }
        join_four(last[0], last[1], columns);
        join_four(last[2], last[3], columns + 1);
    }
}
