/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fully connected layers whose int8 weights are stored in as many bits as their blocks need.
 */
#ifndef TG_SQUEEZED_H
#define TG_SQUEEZED_H

#include <stdint.h>

#include "tg_operator_names.h"

/**
 * Sizes, offsets and constants. The weights of each unit are blocks of 32, of which the last one may have fewer, all as
 * wide as the widest of the block needs, 0 to 8 bits of two's complement. Before each 8 blocks, of whichever units,
 * `words` has one of their widths, 4 bits each from the lowest on; then come the blocks.
 *
 * A block's words hold two strings of bits, one in the lower halves and one in the upper halves, each from the lowest
 * bit of the first word on. Of 4 weights the lower string has the first, then the second, the upper one the third, then
 * the fourth; zeros fill the last 4. What is left of a last word is 0. So n weights of b bits take ceil(2 ceil(n/4) b /
 * 16) words, 32 of them b.
 *
 * The table goes on for as many words as a block of 32 would have, wherever the last ones begin: all of these are read.
 */
struct tg_squeezed_fully_connected {
    int32_t rows;
    int32_t features;
    int32_t units;
    int32_t scales; /**< multipliers and shifts: one for each unit, or 1 for all */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    const int32_t *words;
    const int32_t *bias; /**< one a unit, with what the zero point of the input adds to its sum */
    const int32_t *multiplier;
    const int32_t *shift;
};

/** Vectors of int8 times weights; sums of 32 bits wrap. */
void tg_fully_connected_squeezed_s8(
    const struct tg_squeezed_fully_connected *layer, const int8_t *input, int8_t *output);

#endif
