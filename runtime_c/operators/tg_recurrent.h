/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers that keep states from call to call. States are written where they lie, before the next call reads them.
 */
#ifndef TG_RECURRENT_H
#define TG_RECURRENT_H

#include <stdint.h>

#include "tg_float.h"
#include "tg_operator_names.h"

/** A layer of filters of rank one: the weights of a filter are those of its inputs times those of its steps. */
struct tg_svdf_s8 {
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t rank; /**< filters of a unit */
    int32_t steps;
    int32_t state_multiplier; /**< Q31, from sums over inputs to states */
    int32_t state_shift;
    int32_t output_multiplier; /**< Q31, from sums over steps to outputs */
    int32_t output_shift;
    int32_t state_zero_point; /**< 0 where states are int16 */
    int32_t output_zero_point;
    const int8_t *features;        /**< [units * rank][inputs] */
    const void *times;             /**< [units * rank][steps], of the states' type */
    const int32_t *feature_starts; /**< one a filter: minus the input's zero point times the sum of its weights */
    const int32_t *time_starts; /**< one a unit: its bias, minus the states' zero point times the sum of its weights */
};

/** `state` is [batches][units * rank][steps], the oldest step first. */
void tg_svdf_s8(const struct tg_svdf_s8 *layer, const int8_t *input, int8_t *state, int8_t *output);

/** The same with states of int16. */
void tg_svdf_s16(const struct tg_svdf_s8 *layer, const int8_t *input, int16_t *state, int8_t *output);

/** The same on real numbers. */
struct tg_svdf_f32 {
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t rank;
    int32_t steps;
    struct tg_bounds_f32 bounds;
    const float *features;
    const float *times;
    const float *bias; /**< one a unit */
};

void tg_svdf_f32(const struct tg_svdf_f32 *layer, const float *input, float *state, float *output);

/** Weights of all units times values, from a start a unit on, to Q3.12. */
struct tg_lstm_product {
    const int8_t *weights; /**< [units][values] */
    const void *starts;    /**< one a unit, int32_t, of int16 int64_t; NULL for 0 */
    int32_t multiplier;    /**< Q31; that of int16 is rounded to Q15 */
    int32_t shift;         /**< of int16 at most 7 */
};

/** What goes into the function of a gate. Each product is saturated to 16 bits, and their sum again. */
struct tg_lstm_gate {
    struct tg_lstm_product input;
    struct tg_lstm_product hidden;
};

/** Long short-term memory over a sequence. */
struct tg_lstm {
    int32_t batches;
    int32_t steps;
    int32_t inputs;
    int32_t units;
    int32_t is_time_major;        /**< the sequence is [steps][batches], else [batches][steps] */
    struct tg_lstm_gate gates[4]; /**< input, forget, cell, output */
    int32_t forget_multiplier;    /**< from forget gate times cell to cells */
    int32_t forget_shift;
    int32_t update_multiplier; /**< from input times cell gate to cells */
    int32_t update_shift;
    int32_t tanh_multiplier; /**< a cell times this / 2^tanh_shift counts in 1 / 12288 */
    int32_t tanh_shift;      /**< 0 or more */
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t output_zero_point;
    int32_t clip;         /**< largest magnitude of a cell, 0 for none */
    const int16_t *table; /**< 256 values of sigmoid(i / 24) - 1/2 in Q16 */
};

/**
 * `input` is [..][inputs] and `output` [..][units], which must not overlap; `hidden` and `cell` are [batches][units],
 * and hold the next states afterwards.
 */
void tg_lstm_s8(const struct tg_lstm *layer, const int8_t *input, int8_t *hidden, int16_t *cell, int8_t *output);

/** The same on int16, with biases of int64 and zero points of 0. */
void tg_lstm_s16(const struct tg_lstm *layer, const int16_t *input, int16_t *hidden, int16_t *cell, int16_t *output);

/** The same on real numbers. */
struct tg_lstm_f32 {
    int32_t batches;
    int32_t steps;
    int32_t inputs;
    int32_t units;
    int32_t is_time_major;
    float clip;
    const float *kernels[4];
    const float *recurrent[4];
    const float *biases[4];
};

void tg_lstm_f32(const struct tg_lstm_f32 *layer, const float *input, float *hidden, float *cell, float *output);

#endif
