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

#endif
