/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_SOFTMAX_H
#define TG_SOFTMAX_H

#include <stdint.h>

#include "tg_operator_names.h"

/**
 * Softmax of rows of any length, whose results have scale 1/256 and zero point -128.
 *
 * Same as arm_softmax_s8(), which is undefined for rows whose exponentials add up to 512 times the largest one or more.
 * mult and shift bring differences to the largest input to Q5.26; those below diff_min count as minus infinity.
 */
void tg_softmax_s8(const int8_t *input, int32_t num_rows, int32_t row_size, int32_t mult, int32_t shift,
    int32_t diff_min, int8_t *output);

/** The same with int16 results, of scale 1/65536 and zero point -32768. */
void tg_softmax_s8_s16(const int8_t *input, int32_t num_rows, int32_t row_size, int32_t mult, int32_t shift,
    int32_t diff_min, int16_t *output);

/** Logarithm of the softmax of each row, with scale 1/16 and zero point 127. */
struct tg_log_softmax {
    int32_t rows;
    int32_t row_size;   /**< 1..4095 */
    int32_t multiplier; /**< with shift: brings differences to the largest input to Q5.26 */
    int32_t shift;
    int32_t reverse_multiplier; /**< with reverse_shift: from Q5.26 to differences */
    int32_t reverse_shift;
    int32_t diff_min; /**< differences below count as minus infinity */
};

/** input and output may be the same pointer. */
void tg_log_softmax_s8(const struct tg_log_softmax *layer, const int8_t *input, int8_t *output);

#endif
