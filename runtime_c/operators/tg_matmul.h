/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 and of int16 matrices.
 */
#ifndef TG_MATMUL_H
#define TG_MATMUL_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Where the elements of an operand lie, in elements from one to the next along each axis; 0 repeats. */
struct tg_matmul_strides {
    int32_t outer_batch;
    int32_t inner_batch;
    int32_t vector; /**< to the next row of the first operand, to the next column of the second */
    int32_t depth;
    int32_t offset; /**< added to stored values: minus the zero point */
};

/** Sizes and requantization; the output is contiguous. */
struct tg_matmul_params {
    int32_t outer_batches;
    int32_t inner_batches;
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
};

/** output[b][i][j] = sum over k of first[b][i][k] * second[b][k][j], with any layout of both operands. */
void tg_batch_matmul_s8(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const int8_t *first, const int8_t *second, int8_t *output);

/**
 * The same of int16, whose offsets and zero point are 0: at most 65536 products an output, added up in 64 bits; the
 * multiplier is rounded to Q15, its shift is -31..7.
 */
void tg_batch_matmul_s16(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const int16_t *first, const int16_t *second, int16_t *output);

#endif
