/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_NORMALIZATION_H
#define TG_NORMALIZATION_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Each row divided by the root of its sum of squares, with scale 1/128 and zero point 0. */
struct tg_l2_normalization {
    int32_t rows;
    int32_t row_size;     /**< whose squares add up to less than 2^31 */
    int32_t input_offset; /**< minus the zero point */
    int32_t early_bits;   /**< of the 7 by which quotients are scaled, those that operands are shifted by before */
};

/** input and output may be the same pointer. */
void tg_l2_normalize_s8(const struct tg_l2_normalization *layer, const int8_t *input, int8_t *output);

enum {
    TG_NORMAL_BITS = 20, /* fraction bits of standardized elements */
    TG_SUMMAND_BITS = 10 /* fraction bits of summands */
};

/** Elements less their mean, over their deviation, times a factor, plus a summand. */
struct tg_standardize {
    int32_t outer;         /**< groups of size * inner elements */
    int32_t size;          /**< elements that have a mean */
    int32_t inner;         /**< how far these lie apart */
    int32_t centers;       /**< whether the mean is taken off, else it counts as 0 */
    int32_t channel_step;  /**< elements that follow each other with one factor */
    int32_t channels;      /**< factors, which then begin anew */
    int32_t input_offset;  /**< minus the zero point */
    int32_t output_offset; /**< the zero point */
    int32_t fraction_bits; /**< even, of size^2 times the variance, which stays below 2^62 */
    int32_t shift;         /**< to the right, of products with factors; at least TG_SUMMAND_BITS */
    int64_t floor;         /**< what epsilon adds to the variance */
};

/** input and output may be the same pointer. */
void tg_standardize_s8(const struct tg_standardize *layer, const int32_t *factors, const int32_t *summands,
    const int8_t *input, int8_t *output);
void tg_standardize_s16(const struct tg_standardize *layer, const int32_t *factors, const int32_t *summands,
    const int16_t *input, int16_t *output);

#endif
