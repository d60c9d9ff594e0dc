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
void tg_resize_bilinear_s16(const struct tg_resize_dims *dims, const struct tg_sampling *vertical,
    const struct tg_sampling *horizontal, const int16_t *input, int16_t *output);

enum { TG_WEIGHT_BITS = 20 };

/** For each row or column of the output those of the input before and after it. */
struct tg_lines {
    const int16_t *before;
    const int16_t *after;
    const int32_t *weights; /**< of `after`, TG_WEIGHT_BITS behind the point */
};

/** Output pixels lie between four input pixels at positions that tables give, rounded to nearest, ties up. */
void tg_resize_linear_s8(const struct tg_resize_dims *dims, const struct tg_lines *rows, const struct tg_lines *columns,
    const int8_t *input, int8_t *output);
void tg_resize_linear_s16(const struct tg_resize_dims *dims, const struct tg_lines *rows,
    const struct tg_lines *columns, const int16_t *input, int16_t *output);

#endif
