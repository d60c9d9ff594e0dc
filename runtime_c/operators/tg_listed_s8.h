/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers on int8 whose weights are numbers of tables, or of which only those that are not 0 are stored.
 */
#ifndef TG_LISTED_S8_H
#define TG_LISTED_S8_H

#include "tg_geometry.h"
#include "tg_listed.h"

/** Sizes, offsets and constants. Weights are OHWI with the depth of one group, of int8. */
struct tg_listed_convolution {
    struct tg_geometry shape;
    int32_t input_offset; /**< added to inputs: minus the zero point */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    int32_t bits; /**< of a code */
    struct tg_list list;
    const uint8_t *codes;
    const int8_t *levels; /**< tables of numbers by their codes; NULL: codes of 8 bits are the numbers */
    const int32_t *bias;  /**< one an output channel, or NULL */
    const int32_t *multiplier;
    const int32_t *shift;
};

/** scratch: the weights of up to four filters of a group, filter_height * filter_width * filter_depth bytes each. */
void tg_convolve_listed_s8(
    const struct tg_listed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch);

/** The same for one vector, of which only elements with stored weights are multiplied; without scratch. */
void tg_fully_connected_listed_s8(const struct tg_listed_convolution *layer, const int8_t *input, int8_t *output);

#endif
