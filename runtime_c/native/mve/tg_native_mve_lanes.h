/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions on cores with MVE with channels side by side in vectors, as they lie in the input.
 */
#ifndef TG_NATIVE_MVE_LANES_H
#define TG_NATIVE_MVE_LANES_H

#include "tg_native_mve.h"
#include "tg_native_names.h"

enum { TG_MVE_MOST_TAPS = 32 };

/**
 * Some pixels of output of a line.
 *
 * The stream has a piece for each 16 channels, the last one filled up with zeros: 16 biases, 16 bytes of each element
 * of the filter, 16 multipliers, 16 negative right shifts. All but the filter are in the order
 * 0 4 8 12  2 6 10 14  1 5 9 13  3 7 11 15. Products of the second and third element, of the fourth and fifth and so
 * on (of the first and second and so on, if their number is even) add up to 16-bit values.
 */
struct tg_native_mve_lanes {
    const int8_t *const *taps; /**< what lies under each element of the filter, for the first pixel */
    const int32_t *stream;
    int8_t *output;
    int32_t pixels;
    int32_t input_step; /**< bytes between pixels */
    int32_t output_gap; /**< bytes between the end of a pixel and the next one */
    int32_t channels;
    int32_t pairs;      /**< of elements of the filter */
    int32_t is_odd;     /**< 1: another one before them */
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
};

/** All pixels, all channels; `relu` rounds negative values up at halves. */
typedef void tg_native_mve_lanes_filter(const struct tg_native_mve_lanes *lanes);

tg_native_mve_lanes_filter tg_native_mve_lanes_s8;
tg_native_mve_lanes_filter tg_native_mve_lanes_relu_s8;

/** Runs a depthwise convolution. */
void tg_native_mve_lanes(const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_lanes_filter *filter);

/** Runs a depthwise convolution along the rows of a ring. */
void tg_native_mve_ring_lanes(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input, const int8_t *ring,
    int32_t place, int8_t *output, tg_native_mve_lanes_filter *filter);

#endif
