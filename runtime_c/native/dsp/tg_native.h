/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for one layer at a time: all that is known while generating (interleaved weights, folded biases,
 * requantization constants) comes prepared in a stream of 32-bit words. docs/kernels.md has pictures of the layouts.
 *
 * Cores with the DSP extension run assembly; all others, and the host, run C with the same results.
 */
#ifndef TG_NATIVE_H
#define TG_NATIVE_H

#include <stdint.h>

#include "tg_native_names.h"

/** A convolution, batch 1 at a time. */
struct tg_native_convolve {
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
    int32_t channels;   /**< output channels, at least 2 */
    int32_t zero_point; /**< of the input: what the padding holds */
    int32_t min;        /**< clamp of the output */
    int32_t max;
    int32_t quads;         /**< elements of a filter, as they are packed, / 4 */
    int32_t pair_words;    /**< of the stream, where it is one of pairs */
    const int32_t *stream; /**< one piece for each pair of channels: see tg_native_gemm.h */
};

/** The same, pixel by pixel from the input as it lies there: filters are read as runs of whole words. */
struct tg_native_convolve_runs {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t depth;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t output_height;
    int32_t output_width;
    int32_t channels;
    int32_t zero_point;
    int32_t min;
    int32_t max;
    int32_t runs;          /**< that a filter is read in: pixels, or rows of them; 0: all it lies over is gathered */
    int32_t quads;         /**< elements of a run / 4 */
    int32_t padding;       /**< bytes of a run of it, 0 where none is read */
    const int32_t *stream; /**< one piece for each 8 channels: see tg_native_runs.h */
};

/** How a filter moves over a padded plane of 16-bit values. */
struct tg_native_plane {
    int32_t position_step; /**< bytes between outputs of a line */
    int32_t block_bytes;   /**< of a line of the plane: 3x3 under blocks of 4 outputs, else under all outputs */
    int32_t rest;          /**< outputs of a line that are no block of 4 */
    int32_t row_bytes;     /**< of a line of the plane */
    int32_t row_skip;      /**< to the next line of outputs: 3x3 from behind the outputs, else from their start */
    int32_t lines;         /**< of output */
    int32_t line_skip;     /**< bytes from behind a line of output to the next one */
    int32_t filter_lines;  /**< these three not for 3x3 */
    int32_t filter_bytes;  /**< of a line of the plane that one position of a filter takes */
    int32_t filter_skip;   /**< row_bytes - filter_bytes */
};

/** A depthwise convolution, seen as lines of positions: rows of columns, or columns of rows. */
struct tg_native_depthwise {
    int32_t batches;
    int32_t channels;
    int32_t input_bytes; /**< of one batch */
    int32_t input_lines; /**< that the filter reaches */
    int32_t input_positions;
    int32_t input_line_step; /**< bytes */
    int32_t input_position_step;
    int32_t first_line; /**< lines of padding before the input */
    int32_t first_position;
    int32_t plane_words;
    int32_t plane_positions; /**< of a line; even */
    int32_t zero_point;
    int32_t output_bytes;
    int32_t min;
    int32_t max;
    struct tg_native_plane plane;
    int32_t channel_words; /**< of the stream */
    const int32_t *stream; /**< for each channel: see tg_native_planes.h */
};

/** A fully connected layer. */
struct tg_native_fully_connected {
    int32_t rows;
    int32_t features;
    int32_t units;
    int32_t min;
    int32_t max;
    const int32_t *stream; /**< one piece for each 8 units: see tg_native_gemv.h */
};

/** Pooling; windows reach beside the input in part at most. */
struct tg_native_pool {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t channels;
    int32_t kernel_height;
    int32_t kernel_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t output_height;
    int32_t output_width;
    int32_t min; /**< clamp of the output */
    int32_t max;
};

/** An addition by a factor for each operand. */
struct tg_native_add_linear {
    int32_t size;
    int32_t first;
    int32_t second;
    int32_t constant; /**< zero points and rounding */
    int32_t min;
    int32_t max;
};

/** An addition: what each operand contributes, and how the sum is requantized. */
struct tg_native_add {
    int32_t size;
    const int32_t *first; /**< twice the rescaled value of -128 to 127 */
    const int32_t *second;
    int32_t multiplier;
    int32_t offset; /**< output zero point and rounding */
    int32_t shift;
    int32_t min;
    int32_t max;
};

/**
 * Convolution; scratch holds the columns of 4 pixels as 16-bit values, and behind them a row of the filter in bytes.
 *
 * The functions named `relu` requantize by one multiplication, which is proven for clamps at the output's zero point.
 * Those named `joined` unpack the weights of two channels at once, where the sums of every second one fit 24 bits.
 * Those named `twin` multiply two pixels at once, where products of two elements fit 16 bits; those named `twin8` read
 * the weights of 8 channels side by side, see tg_native_gemm_twin8.h.
 */
void tg_native_convolve_s8(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Convolution with 1x1 filters at stride 1, without padding. */
void tg_native_convolve_1x1_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_1x1_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/**
 * Convolution of inputs with 1 to 4 channels; scratch has behind the columns a word and the rows under one row of
 * outputs with their padding, each with 3 bytes more and filled up to whole words.
 */
void tg_native_convolve_shallow_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_shallow_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/**
 * Convolution, or a fully connected layer, without columns; scratch holds the offsets of several runs and a run of
 * padding, or what is gathered.
 */
void tg_native_convolve_runs_s8(
    const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_convolve_runs_joined_s8(
    const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output, void *scratch);

/**
 * Convolution with 3x3 filters at stride 1, depth at least 4, in tiles of 1x2, 2x2 or 4x4 outputs: see
 * tg_native_winograd.h.
 *
 * `stream` is its own, that of 1x2 one for both; scratch holds the values and the products of 4 tiles, of 1x2 those of
 * 2 or, where it is named so, of a single one, and behind them a pixel of padding.
 */
void tg_native_winograd_1x2_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_winograd_1x2_pair_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_winograd_1x2_single_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_winograd_2x2_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_winograd_4x4_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** The same where `stream` holds the filters as they are; scratch has room for transformed ones of two channels, too.
 */
void tg_native_winograd_4x4_bytes_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** In tiles of 2x2 at stride 2: 25 values and 11 products of a tile, 16 filters of each channel. */
void tg_native_winograd_2x2_stride2_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Depthwise convolution with 3x3 filters; the stride along a line is in the name. Scratch holds one padded plane. */
void tg_native_depthwise_3x3_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_3x3_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_3x3_stride2_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_3x3_stride2_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);

/** The same with filters of any size. */
void tg_native_depthwise_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_stride2_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_depthwise_stride2_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch);

/** Fully connected layer; scratch holds one input vector as 16-bit values. */
void tg_native_fully_connected_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_fully_connected_joined_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_fully_connected_twin_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch);
void tg_native_fully_connected_twin8_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch);

/** Mean of windows of at most 255 values, halves away from zero. */
void tg_native_average_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output);

/** Largest values of windows. */
void tg_native_max_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output);

/** Sum of two tensors of the same shape; the output may be the memory of an operand. */
void tg_native_add_s8(const struct tg_native_add *layer, const int8_t *first, const int8_t *second, int8_t *output);

/** The same, where (x * first + y * second + constant) >> 21, saturated, is proven for all stored values x and y. */
void tg_native_add_linear_s8(
    const struct tg_native_add_linear *layer, const int8_t *first, const int8_t *second, int8_t *output);

#endif
