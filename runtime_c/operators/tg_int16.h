/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators on int16 activations, whose zero point is 0.
 */
#ifndef TG_INT16_H
#define TG_INT16_H

#include <stdint.h>

#include "tg_geometry.h"
#include "tg_operator_names.h"

/** Sizes and constants of a convolution. Weights are OHWI with the depth of one group. */
struct tg_convolution_s16 {
    struct tg_geometry shape;
    int32_t min;
    int32_t max;
    const void *weights;       /**< int8_t, of tg_convolve_s16_w16 int16_t */
    const int64_t *bias;       /**< one an output channel, or NULL */
    const int32_t *multiplier; /**< Q31, one an output channel; the kernel rounds them to Q15 */
    const int32_t *shift;      /**< -31..7 */
};

/**
 * Convolution of NHWC images with 64-bit sums; fully connected layers are images of one pixel, depthwise ones have a
 * group a channel. Sums keep within 48 bits.
 */
void tg_convolve_s16(const struct tg_convolution_s16 *layer, const int16_t *input, int16_t *output);

/** The same with weights of int16, of which an output has at most 65536. */
void tg_convolve_s16_w16(const struct tg_convolution_s16 *layer, const int16_t *input, int16_t *output);

/**
 * Transposed convolution: pad_top and pad_left are rows and columns cut off; groups and dilation are 1. Outputs that no
 * input reaches hold the bias.
 */
void tg_transpose_conv_s16(const struct tg_convolution_s16 *layer, const int16_t *input, int16_t *output);

/**
 * Softmax of each row; outputs have scale 1/32768. A difference of two inputs times multiplier * 2^(shift - 31) has
 * scale 10/65535.
 */
struct tg_softmax_s16 {
    int32_t rows;
    int32_t row_size; /**< 1..8191 */
    int32_t multiplier;
    int32_t shift;
    const int16_t *exponential; /**< 513 values of exp(x) in Q15, for x from -10 to 0 */
    const int16_t *reciprocal;  /**< 513 values of 1 / (1 + x) in Q15, for x from 0 to 1 */
};

/** input and output may be the same pointer. */
void tg_softmax_s16(const struct tg_softmax_s16 *layer, const int16_t *input, int16_t *output);

/** Sigmoid or hyperbolic tangent of each element; outputs have scale 1/32768. */
struct tg_sigmoid_s16 {
    int32_t size;
    int32_t multiplier;   /**< 0..32767; an input times multiplier / 2^shift counts in 1 / 12288 */
    int32_t shift;        /**< 0..31 */
    const int16_t *table; /**< 256 values of sigmoid(i / 24) - 1/2 in Q16 */
};

/** input and output may be the same pointer. */
void tg_logistic_s16(const struct tg_sigmoid_s16 *layer, const int16_t *input, int16_t *output);

/** input and output may be the same pointer. */
void tg_tanh_s16(const struct tg_sigmoid_s16 *layer, const int16_t *input, int16_t *output);

/** Between the two of 513 entries around each element, from the smallest one on; input and output may be the same. */
void tg_interpolated_s16(const int16_t table[513], const int16_t *input, int16_t *output, int32_t size);

/** From one scale to another. */
struct tg_rescale {
    int32_t size;
    int32_t input_offset; /**< of int8, and of int16 that becomes int32: minus the zero point */
    int32_t multiplier;
    int32_t shift;             /**< -31..15 */
    int32_t output_zero_point; /**< of int8 */
    int32_t min;
    int32_t max;
};

/** input and output may be the same pointer. */
void tg_rescale_s16(const struct tg_rescale *layer, const int16_t *input, int16_t *output);

/** Of the absolute value. */
void tg_abs_s16(const struct tg_rescale *layer, const int16_t *input, int16_t *output);

/** Of the reciprocal root, with 20 fraction bits; the largest output where there is none. A shift to the left wraps. */
void tg_rsqrt_s16(const struct tg_rescale *layer, const int16_t *input, int16_t *output);

void tg_rescale_s8_s16(const struct tg_rescale *layer, const int8_t *input, int16_t *output);

void tg_rescale_s16_s8(const struct tg_rescale *layer, const int16_t *input, int8_t *output);

/** To and from int32, whose zero point is 0; from there with a shift of at most 0. */
void tg_rescale_s8_s32(const struct tg_rescale *layer, const int8_t *input, int32_t *output);

void tg_rescale_s16_s32(const struct tg_rescale *layer, const int16_t *input, int32_t *output);

void tg_rescale_s32_s8(const struct tg_rescale *layer, const int32_t *input, int8_t *output);

void tg_rescale_s32_s16(const struct tg_rescale *layer, const int32_t *input, int16_t *output);

#endif
