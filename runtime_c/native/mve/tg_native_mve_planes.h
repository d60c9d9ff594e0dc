/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions on cores with MVE: channels as planes of bytes with their padding around them, so that a
 * vector holds what a filter sees.
 */
#ifndef TG_NATIVE_MVE_PLANES_H
#define TG_NATIVE_MVE_PLANES_H

#include "tg_native_mve.h"
#include "tg_native_names.h"

/** Some lines of output of some channels. The functions advance stream, plane and output from channel to channel. */
struct tg_native_mve_planes {
    const int32_t *stream;
    const int8_t *plane;
    int8_t *output;
    int32_t channels;
    int32_t plane_bytes; /**< between channels */
    int32_t lines;       /**< of output, or pairs of them */
    int32_t line_bytes;  /**< of the plane, between lines of output or pairs of them */
    int32_t output_line_step;
    int32_t positions;
    int32_t position_step;  /**< bytes between outputs */
    int32_t position_bytes; /**< of the plane between outputs: 1, 2, 4 or 8 */
    int32_t vectors;        /**< of a filter */
    int32_t vector_bytes;   /**< of the plane between the vectors of a filter */
    int32_t zero_point;     /**< of the output */
};

typedef void tg_native_mve_filter(struct tg_native_mve_planes *planes);

/**
 * 3x3 filters at stride 1, pairs of lines. A word of the plane has 4 lines of one position, so that a vector has what
 * 2x2 outputs need. Stream of a channel: 0, 3 words with a column of the filter each, 0, bias, multiplier, shift.
 */
tg_native_mve_filter tg_native_mve_tiles_s8;
tg_native_mve_filter tg_native_mve_tiles_relu_s8;

/** Filters of one line of at most 13 positions, at stride 1. Stream of a channel: 0, 4 words, bias, multiplier, shift.
 */
tg_native_mve_filter tg_native_mve_shifts_s8;
tg_native_mve_filter tg_native_mve_shifts_relu_s8;

/** Any filter. Stream of a channel: `vectors` vectors of 16 bytes, bias, multiplier, shift. */
tg_native_mve_filter tg_native_mve_dots_s8;
tg_native_mve_filter tg_native_mve_dots_relu_s8;

/** Words of 4 pixels, side by side in the planes of channels, between padding. Pixels are advanced over channels. */
struct tg_native_mve_pack {
    const int8_t *pixels[4];
    int32_t steps[4];       /**< bytes between the pixels of neighbouring words */
    int32_t group_steps[4]; /**< bytes from 8 channels to the next ones */
    int8_t *plane;
    int32_t plane_bytes;
    int32_t before;   /**< words of padding */
    int32_t words;    /**< of pixels */
    int32_t behind;   /**< words of padding */
    int32_t channels; /**< planes are written up to a multiple of 8 */
    int32_t zero_point;
};

void tg_native_mve_pack_words(struct tg_native_mve_pack *pack);

/** Runs a depthwise convolution. */
void tg_native_mve_planes(const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_filter *filter);

#endif
