/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers whose activations and weights are signs: 32 in a word, bit 0 the first, set for 1 and not set for -1. The
 * channels of a pixel begin in a word of their own; bits behind the last channel are 0.
 */
#ifndef TG_SIGNS_H
#define TG_SIGNS_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Values from `threshold` on become 1, others -1. */
struct tg_sign_packing {
    int32_t pixels;
    int32_t depth; /**< channels of a pixel */
    int32_t threshold;
};

void tg_pack_signs_s8(const struct tg_sign_packing *layer, const int8_t *input, uint32_t *output);

void tg_pack_signs_s16(const struct tg_sign_packing *layer, const int16_t *input, uint32_t *output);

/** Sizes and constants of a convolution; weights are OHWI, the channels of each tap in words. */
struct tg_sign_convolution {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t words; /**< of a pixel */
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t filter_height;
    int32_t filter_width;
    int32_t depth; /**< channels of a pixel */
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t counts_padding; /**< 1: outside of the input all is -1; 0: what lies there adds nothing */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    const uint32_t *weights;
    const int32_t *bias; /**< one an output channel, or NULL */
    const int32_t *multiplier;
    const int32_t *shift;
};

/**
 * Convolution of NHWC images; fully connected layers are images of one line, which the filter covers.
 *
 * scratch: filter_height * filter_width * words words, for the pixels of a window.
 */
void tg_convolve_signs_s8(
    const struct tg_sign_convolution *layer, const uint32_t *input, int8_t *output, uint32_t *scratch);

#endif
