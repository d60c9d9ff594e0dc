/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers of int8 with int32 results: sums of (input - zero point) * (weights - their zero points).
 */
#ifndef TG_INTEGER_H
#define TG_INTEGER_H

#include <stdint.h>

#include "tg_float.h"
#include "tg_matmul.h"
#include "tg_operator_names.h"

/** Weights, and what is known of them. */
struct tg_integer_filters {
    const int8_t *weights;     /**< [channels][elements]; of depthwise convolutions [elements][channels] */
    const int32_t *sums;       /**< of the weights of each channel; not of depthwise convolutions */
    const int8_t *zero_points; /**< NULL where all are 0 */
    int32_t zero_point_step;   /**< 0 where all channels have the same one, else 1 */
    int32_t channels;
    int32_t elements;
};

/** `vectors` input vectors; each `vectors_per_zero_point` of them have a zero point of their own. */
void tg_integer_matmul_s8(const struct tg_integer_filters *filters, int32_t vectors, int32_t vectors_per_zero_point,
    const int8_t *input, const int8_t *zero_point, int32_t *output);

/** Sizes of products of matrices, and how the operands lie; their offsets are not used. The output is contiguous. */
struct tg_integer_products {
    struct tg_matmul_strides first;
    struct tg_matmul_strides second;
    int32_t outer_batches;
    int32_t inner_batches;
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t first_zero_point_step;  /**< 0 where all rows have the same one, else 1 */
    int32_t second_zero_point_step; /**< the same of columns */
};

/** Products of matrices, with any layout of both: output[b][i][j] = sum over k of (first[b][i][k] - its zero point) *
 * (second[b][k][j] - its zero point), wrapping around. */
void tg_integer_batch_matmul_s8(const struct tg_integer_products *products, const int8_t *first, const int8_t *second,
    const int8_t *first_zero_points, const int8_t *second_zero_points, int32_t *output);

/**
 * Convolution; each `images_per_zero_point` images have a zero point of their own. The window's bounds are not used.
 *
 * scratch: two patches of the input, `elements` bytes each; not of 1x1 windows at stride 1 without padding and groups.
 */
void tg_integer_convolve_s8(const struct tg_window *window, const struct tg_integer_filters *filters,
    int32_t images_per_zero_point, const int8_t *input, const int8_t *zero_point, int32_t *output, int8_t *scratch);

/** Depthwise convolution. */
void tg_integer_depthwise_s8(const struct tg_window *window, const struct tg_integer_filters *filters,
    int32_t images_per_zero_point, const int8_t *input, const int8_t *zero_point, int32_t *output);

#endif
