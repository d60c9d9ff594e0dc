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

#endif
