/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers that an engine beside the core computes, and what they are on a machine without it.
 */
#ifndef TG_ENGINE_H
#define TG_ENGINE_H

#include <stdint.h>

#include "tg_geometry.h"
#include "tg_operator_names.h"

/** How sums become stored outputs. */
enum tg_engine_rounding {
    TG_ENGINE_DOUBLE, /**< Q31 multiplier rounded, then the right shift (ties away from zero) */
    TG_ENGINE_SINGLE, /**< multiplier and shift, rounded once (ties up); of int16 with 16 bits of the multiplier */
    TG_ENGINE_SHIFT   /**< a right shift by 1 - shift (ties up), the multiplier is 2^30 */
};

/**
 * Products of so many rows are added up as currents. code = (sum + noise) / 2^adc_shift, rounded (ties up) and
 * saturated to `adc_bits`; code * 2^adc_shift goes to the accumulator. Noise: see tg_engine_body.h.
 */
struct tg_crossbar {
    int32_t rows; /**< 0: the engine is digital */
    int32_t adc_bits;
    int32_t adc_shift;
    uint32_t seed;
    int64_t noise_gain; /**< of the noise's unit, in 2^-16 */
};

/**
 * Sizes, offsets and constants of a layer. Images are NHWC. Weights are OHWI with the depth of one group, packed
 * without gaps from the lowest bit of the first byte on; `weight_bits` is 8, 4 or 2 (two's complement) or 1 (set: 1,
 * not: -1). Depthwise layers have a group a channel, fully connected ones an image of one row of pixels.
 *
 * The accumulator starts at 0 and takes the products in the order of the weights, then the bias.
 */
struct tg_engine_layer {
    struct tg_geometry shape;
    int32_t input_offset; /**< added to inputs: minus the zero point */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    int32_t weight_bits;
    int32_t accumulator_bits; /**< 12..64, of int8 at most 32 */
    int32_t saturates;        /**< the accumulator, after each product; otherwise it wraps */
    enum tg_engine_rounding rounding;
    const int8_t *weights;
    const int32_t *bias;       /**< one an output channel, or NULL; of int8 */
    const int64_t *wide_bias;  /**< the same of int16 */
    const int32_t *multiplier; /**< Q31, one an output channel */
    const int32_t *shift;      /**< -31..30, of int16 at most 7 */
    struct tg_crossbar crossbar;
};

/** A layer that has a function of its own, on int8; it returns 0, or what ends the inference. */
struct tg_engine_function_int8 {
    int (*run)(const int8_t *input, int8_t *output);
};

/** The same on int16. */
struct tg_engine_function_int16 {
    int (*run)(const int16_t *input, int16_t *output);
};

/** Emulates an engine on int8. */
void tg_engine_layer_s8(const struct tg_engine_layer *layer, const int8_t *input, int8_t *output);

/** Emulates an engine on int16, whose zero point is 0. */
void tg_engine_layer_s16(const struct tg_engine_layer *layer, const int16_t *input, int16_t *output);

#endif
