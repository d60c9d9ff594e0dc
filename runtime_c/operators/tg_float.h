/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators on float32 tensors. Images are NHWC. Sums are kept in float; input and output must not overlap unless said.
 */
#ifndef TG_FLOAT_H
#define TG_FLOAT_H

#include <math.h>
#include <stdint.h>

#include "tg_elementwise.h"
#include "tg_operator_names.h"
#include "tg_reduction.h"

/** What an output is limited to; infinite where it is not. */
struct tg_bounds_f32 {
    float min;
    float max;
};

/** Sizes of an NHWC image. */
struct tg_image {
    int32_t height;
    int32_t width;
    int32_t channels;
};

/** A window that moves over `batches` images. */
struct tg_window {
    int32_t batches;
    struct tg_image input;
    struct tg_image output;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t top;  /**< rows of padding above the input; of a transposed convolution rows dropped above the output */
    int32_t left; /**< columns of padding to the left of the input, or dropped */
    int32_t groups;
    struct tg_bounds_f32 bounds;
};

/** Convolution with weights [output channels, kernel height, kernel width, input channels / groups]; bias may be NULL.
 */
void tg_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output);

/** Depthwise convolution with weights [kernel height, kernel width, output channels]; bias may be NULL. */
void tg_depthwise_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output);

/** Transposed convolution with weights [output channels, kernel height, kernel width, input channels]; bias may be
 * NULL. */
void tg_transpose_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output);

/** Mean of the input under the window; padding does not count. */
void tg_average_pool_f32(const struct tg_window *window, const float *input, float *output);

/** Largest input under the window. */
void tg_max_pool_f32(const struct tg_window *window, const float *input, float *output);

/** How the matrices of one operand lie: elements from one to the next along each axis. */
struct tg_matrices_f32 {
    int32_t outer_batch;
    int32_t inner_batch;
    int32_t vector; /**< rows of the first operand, columns of the second one */
    int32_t depth;
};

/** Products of matrices, batch by batch: output[..., rows, columns] is dense. */
struct tg_matrix_product {
    int32_t outer_batches;
    int32_t inner_batches;
    int32_t rows;
    int32_t depth;
    int32_t columns;
    struct tg_matrices_f32 first;
    struct tg_matrices_f32 second;
};

/** output = first x second. */
void tg_matmul_f32(const struct tg_matrix_product *matmul, const float *first, const float *second, float *output);

/** A function of one number and of constants. */
typedef float tg_function_f32(float x, const float *parameters);

/** output[i] = function(input[i]); output may be the input's memory. */
void tg_map_f32(tg_function_f32 *function, const float *parameters, const float *input, float *output, int32_t size);

/** A row of two broadcast operands, which advance by their steps: 0 or 1. */
struct tg_row_f32 {
    const float *first;
    const float *second;
    float *output;
    int32_t first_step;
    int32_t second_step;
    int32_t size;
};

/** Computes one row. */
typedef void tg_row_function_f32(const struct tg_row_f32 *row);

/** Calls `function` for each row, then limits it; output may be the memory of an operand of the same size. */
void tg_broadcast_f32(const struct tg_broadcast *shape, tg_row_function_f32 *function,
    const struct tg_bounds_f32 *bounds, const float *first, const float *second, float *output);

/** Softmax of beta * input along rows; output may be the input's memory. */
void tg_softmax_f32(const float *input, float *output, int32_t rows, int32_t row_size, float beta);

/** Sum along the reduced axes, times `factor`. */
void tg_sum_f32(const struct tg_extents *extents, float factor, const float *input, float *output);

/** Largest or smallest value along the reduced axes. */
void tg_reduce_extreme_f32(const struct tg_extents *extents, enum tg_extreme which, const float *input, float *output);

/** Index of the first largest value along the middle one of three axes. */
void tg_arg_max_f32(int32_t outer, int32_t size, int32_t inner, const float *input, int32_t *output);

/** tg_arg_max_f32() with 64-bit indices. */
void tg_arg_max_f32_s64(int32_t outer, int32_t size, int32_t inner, const float *input, int64_t *output);

/** Between which input positions each output position lies, and how far from the first. */
struct tg_neighbours {
    const int16_t *before;
    const int16_t *after;
    const float *weights;
};

/** Output pixels are interpolated between four input pixels. */
void tg_resize_linear_f32(int32_t batches, const struct tg_image *input_size, const struct tg_image *output_size,
    const struct tg_neighbours *rows, const struct tg_neighbours *columns, const float *input, float *output);

/** Sets `size` elements. */
void tg_fill_f32(float *output, int32_t size, float value);

#endif
