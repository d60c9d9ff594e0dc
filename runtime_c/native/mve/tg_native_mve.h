/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for one layer at a time on cores with MVE (Cortex-M55, M85): what is known while generating comes prepared in
 * a stream of 32-bit words. docs/kernels.md has pictures of the layouts.
 *
 * Other cores and the host run C with the same results, from the same streams.
 */
#ifndef TG_NATIVE_MVE_H
#define TG_NATIVE_MVE_H

#include <stdint.h>

#include "tg_native.h"
#include "tg_native_names.h"

/** A convolution, batch 1 at a time. */
struct tg_native_mve_convolve {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t depth; /**< input channels */
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t output_height;
    int32_t output_width;
    int32_t channels;          /**< output channels */
    int32_t zero_point;        /**< of the input: what the padding holds */
    int32_t output_zero_point; /**< of the output */
    int32_t min;               /**< clamp of the output */
    int32_t max;
    int32_t pixels_at_once; /**< windows that scratch holds: even */
    const int32_t *stream;  /**< see tg_native_mve_gemm.h */
};

/** A depthwise convolution, seen as lines of positions: rows of columns, or columns of rows. */
struct tg_native_mve_depthwise {
    int32_t batches;
    int32_t channels;
    int32_t input_bytes; /**< of one batch */
    int32_t input_lines;
    int32_t input_positions;
    int32_t input_line_step; /**< bytes */
    int32_t input_position_step;
    int32_t first_line; /**< lines of padding before the input */
    int32_t first_position;
    int32_t output_bytes;
    int32_t output_lines;
    int32_t output_positions;
    int32_t output_line_step;
    int32_t output_position_step;
    int32_t line_stride;
    int32_t position_bytes; /**< of a plane between outputs of a line */
    int32_t lines_in_word;  /**< 4: a word of a plane has 4 lines of a position; 1: 4 positions of a line */
    int32_t words;          /**< of a line of a plane */
    int32_t plane_bytes;
    int32_t channels_at_once; /**< that scratch has planes for: a multiple of 8 */
    int32_t lines_in_step;    /**< lines of output that are computed together */
    int32_t lines_at_once;    /**< lines of output that a plane is for: a multiple of lines_in_step */
    int32_t filter_lines;     /**< vectors of a filter where a word has 1 line */
    int32_t channel_words;    /**< of the stream */
    int32_t zero_point;
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    const int32_t *stream; /**< see tg_native_mve_planes.h */
};

/**
 * A depthwise convolution without planes, seen as lines of positions: rows of columns, or columns of rows. Steps are
 * bytes.
 */
struct tg_native_mve_depthwise_lanes {
    int32_t batches;
    int32_t channels;
    int32_t input_bytes; /**< of one batch */
    int32_t input_lines;
    int32_t input_positions;
    int32_t input_line_step;
    int32_t input_position_step;
    int32_t first_line; /**< lines of padding before the input */
    int32_t first_position;
    int32_t filter_lines;
    int32_t filter_positions;
    int32_t line_dilation;
    int32_t position_dilation;
    int32_t line_stride;
    int32_t position_stride;
    int32_t output_bytes;
    int32_t output_lines;
    int32_t output_positions;
    int32_t output_line_step;
    int32_t output_position_step;
    int32_t zero_point; /**< of the input: what the padding holds */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    const int32_t *stream; /**< see tg_native_mve_lanes.h */
};

/** A depthwise convolution along the rows of a ring and new ones behind them. Steps are rows. */
struct tg_native_mve_ring_depthwise {
    int32_t ring_rows;
    int32_t channels;
    int32_t taps; /**< at most 32 */
    int32_t dilation;
    int32_t stride;
    int32_t output_rows;
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
    const int32_t *stream; /**< see tg_native_mve_lanes.h */
};

/** A fully connected layer of one row. */
struct tg_native_mve_fully_connected {
    int32_t features;
    int32_t units;
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
    /**
     * A piece for each 8 units, in the order 0 2 4 6 1 3 5 7: 128 bytes for each 16 features, then biases, multipliers
     * and negative right shifts. Features that do not fill 16 are the last ones of the first 16, behind zeros.
     */
    const int32_t *stream;
};

/** An addition: round((first * first_factor + second * second_factor + constant) / 2**-shift) + zero_point. */
struct tg_native_mve_add {
    int32_t size;
    int32_t first_factor;
    int32_t second_factor;
    int32_t constant;
    int32_t shift; /**< negative: to the right */
    int32_t down;  /**< 1: halves of negative sums go down, away from zero; 0: up */
    int32_t zero_point;
    int32_t min;
    int32_t max;
};

/** A multiplication: round(round((first + first_offset) * (second + second_offset) * multiplier / 2**31) / 2**-shift).
 */
struct tg_native_mve_multiply {
    int32_t size;
    int32_t first_offset;
    int32_t second_offset;
    int32_t multiplier;
    int32_t shift; /**< negative: to the right */
    int32_t down;  /**< 1: halves of negative products go down, away from zero; 0: up */
    int32_t zero_point;
    int32_t min;
    int32_t max;
};

/**
 * Convolution; scratch holds the windows of some pixels side by side.
 *
 * The functions named `relu` round negative values up at halves, which a clamp at the output's zero point hides.
 */
void tg_native_mve_convolve_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_convolve_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Convolution by rows; scratch holds the part of the input under a row of output. */
void tg_native_mve_convolve_strips_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_convolve_strips_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Convolution with 1x1 filters at stride 1, without padding: no scratch. */
void tg_native_mve_convolve_1x1_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_convolve_1x1_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Depthwise convolution with 3x3 filters at stride 1, at least 2x2 outputs. Scratch holds some lines of some channels.
 */
void tg_native_mve_depthwise_3x3_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_depthwise_3x3_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);

/** Depthwise convolution with filters of up to 16 positions, at stride 1 or 2 along a line. */
void tg_native_mve_depthwise_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_depthwise_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);

/** Depthwise convolution at stride 1 along a line, with filters of one line and at most 13 positions. */
void tg_native_mve_depthwise_line_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_depthwise_line_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);

/**
 * Depthwise convolution with at most 32 elements of a filter, any stride and dilation. Scratch holds one pixel of
 * padding; without padding there is none.
 */
void tg_native_mve_depthwise_lanes_s8(
    const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_mve_depthwise_lanes_relu_s8(
    const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output, void *scratch);

/** The same along rows of which row `place` of the ring is the oldest; `input` are those behind the ring's. */
void tg_native_mve_ring_depthwise_s8(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input,
    const int8_t *ring, const int32_t *place, int8_t *output);
void tg_native_mve_ring_depthwise_relu_s8(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input,
    const int8_t *ring, const int32_t *place, int8_t *output);

/** Fully connected layer. */
void tg_native_mve_fully_connected_s8(
    const struct tg_native_mve_fully_connected *layer, const int8_t *input, int8_t *output);

/** Sum of two tensors of the same shape; the output may be the memory of an operand. */
void tg_native_mve_add_s8(
    const struct tg_native_mve_add *layer, const int8_t *first, const int8_t *second, int8_t *output);

/** Product of two tensors of the same shape; the output may be the memory of an operand. */
void tg_native_mve_multiply_s8(
    const struct tg_native_mve_multiply *layer, const int8_t *first, const int8_t *second, int8_t *output);

/** Means of windows of at most 255 values, rounded to nearest, halves away from zero. */
void tg_native_mve_average_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output);

/** Largest values of windows. */
void tg_native_mve_max_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output);

#endif
