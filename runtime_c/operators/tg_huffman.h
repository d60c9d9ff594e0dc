/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fully connected layers whose int8 weights are stored in a canonical Huffman code.
 */
#ifndef TG_HUFFMAN_H
#define TG_HUFFMAN_H

#include <stdint.h>

#include "tg_operator_names.h"

enum {
    TG_HUFFMAN_LENGTHS = 12, /**< of codes, in bits: 1 to this many */
    TG_HUFFMAN_UNITS = 4,    /**< whose weights are decoded at a time */
    TG_HUFFMAN_SPARE = 8     /**< bytes that decoding may write behind these */
};

/**
 * Sizes, offsets and constants. `code` holds bytes: for each length from 1 to `TG_HUFFMAN_LENGTHS` how many weights
 * have codes of that length, 2 bytes each, the lower one first; these weights, those of short codes first; then the
 * codes of all weights, unit by unit, from the highest bit of each byte on. The first code is of zeros, and each
 * further one the next number, with zeros behind it where it is longer; the last one is of ones, so that any bits begin
 * with a code: there are two at least. Behind the last byte of a weight's code are 6 more, which are read.
 */
struct tg_huffman_fully_connected {
    int32_t rows;
    int32_t features;
    int32_t units;
    int32_t scales; /**< multipliers and shifts: one for each unit, or 1 for all */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    int32_t bits; /**< that are looked up at a time: no fewer than any code has, `TG_HUFFMAN_LENGTHS` at most */
    const int32_t *code;
    const int32_t *bias; /**< one a unit, with what the zero point of the input adds to its sum */
    const int32_t *multiplier;
    const int32_t *shift;
};

/**
 * Vectors of int8 times weights; sums of 32 bits wrap. `scratch` has 2^bits words, and bytes for the weights of
 * `TG_HUFFMAN_UNITS` units and `TG_HUFFMAN_SPARE` more.
 */
void tg_fully_connected_huffman_s8(
    const struct tg_huffman_fully_connected *layer, const int8_t *input, int8_t *output, int32_t *scratch);

#endif
