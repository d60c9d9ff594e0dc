/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions on int8 whose weights are narrow codes with factors for blocks of them.
 */
#ifndef TG_CODED_S8_H
#define TG_CODED_S8_H

#include <stdint.h>

#include "tg_geometry.h"
#include "tg_operator_names.h"

/**
 * Sizes, offsets and constants. Weights are OHWI with the depth of one group; each is the number of its code less that
 * of its block's zero point, times the block's factor. Sums have 64 bits, of which requantization takes 32; of
 * those without a start the lowest.
 */
struct tg_coded_convolution {
    struct tg_geometry shape;
    int32_t input_offset; /**< added to inputs: minus the zero point */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    int32_t bits;            /**< of a code: 8, 4 or 2, packed without gaps from the lowest bit of the first byte on */
    int32_t block;           /**< input channels that share factor and zero point; divides the depth */
    int32_t next_zero;       /**< zero points from one filter to the next: 0 where all have the same */
    int32_t is_signed;       /**< of codes of 8 bits */
    int32_t filters_at_once; /**< 4, or 1 for less scratch */
    const uint8_t *codes;
    const int8_t *levels;       /**< numbers by their codes, where these have less than 8 bits */
    const uint8_t *zero_points; /**< codes, by filter and block, or NULL */
    const int16_t *factors;     /**< by filter and block, or NULL where they are powers of two */
    const uint8_t *powers;      /**< these, or NULL; 1 where there are no factors at all */
    const int32_t *bias;        /**< one an output channel, or NULL */
    const int64_t *start;       /**< of each sum: a bias and half of what it loses; or NULL, and nothing is lost */
    const uint8_t *sum_shift;   /**< bits that sums lose, where there is a start */
    const int32_t *multiplier;
    const int32_t *shift;
};

/**
 * Numbers of filters are decoded once for all pixels, so that no sum of a block under all taps may exceed 32 bits.
 *
 * scratch: filter_height * filter_width * filter_depth * 2 bytes for each of the filters that are computed at once.
 */
void tg_convolve_coded_s8(
    const struct tg_coded_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch);

#endif
