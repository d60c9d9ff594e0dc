/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transposed convolution of int8 images.
 */
#ifndef TG_TRANSPOSE_CONV_H
#define TG_TRANSPOSE_CONV_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Sizes, stride, and what of the output is cut off at the top and at the left. */
struct tg_transpose_conv_params {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t filter_height;
    int32_t filter_width;
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t stride_height;
    int32_t stride_width;
    int32_t top;
    int32_t left;
    int32_t input_offset; /**< added to stored inputs: minus the zero point */
    int32_t output_zero_point;
    int32_t activation_min;
    int32_t activation_max;
};

/** Constants of the layer: filters as OHWI, one entry per output channel elsewhere; bias may be NULL. */
struct tg_transpose_conv_tables {
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *multiplier;
    const int32_t *shift;
};

/** Any stride, filter and output size; outputs that no input reaches hold the bias. Needs no scratch. */
void tg_transpose_conv_s8(const struct tg_transpose_conv_params *params, const struct tg_transpose_conv_tables *tables,
    const int8_t *input, int8_t *output);

#endif
