/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Resizing of NHWC images; quantization stays.
 */
#ifndef TG_RESIZE_H
#define TG_RESIZE_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Sizes of input and output. */
struct tg_resize_dims {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t output_height;
    int32_t output_width;
    int32_t channels;
};

/** Positions in the input, in 1/1024 pixel: offset + index * step. */
struct tg_sampling {
    int32_t step;
    int32_t offset;
};

/** Output pixel (y, x) is a copy of input pixel (rows[y], columns[x]). */
void tg_resize_nearest_s8(const struct tg_resize_dims *dims, const int16_t *rows, const int16_t *columns,
    const int8_t *input, int8_t *output);

/** Output pixels are interpolated between four input pixels, rounded to nearest, halves away from zero. */
void tg_resize_bilinear_s8(const struct tg_resize_dims *dims, const struct tg_sampling *vertical,
    const struct tg_sampling *horizontal, const int8_t *input, int8_t *output);

#endif
