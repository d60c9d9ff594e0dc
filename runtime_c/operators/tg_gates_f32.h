/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gates of recurrent layers on float32.
 */
#ifndef TG_GATES_F32_H
#define TG_GATES_F32_H

#define TG_ELEMENT float
#include "tg_steps.h"

/** The product of two vectors. */
static inline float tg_product_f32(const float *weights, const float *values, int32_t size)
{
    float sum = 0.0f;

    for (int32_t i = 0; i < size; i++) {
        sum += weights[i] * values[i];
    }
    return sum;
}

/** Products of a unit with the input, and its bias. */
static inline float tg_of_input_f32(
    const struct tg_sequence *sequence, const struct tg_gate_f32 *gate, int32_t unit, const float *x)
{
    return tg_product_f32(gate->kernel + unit * sequence->inputs, x, sequence->inputs) + gate->bias[unit];
}

/** What goes into the function of a gate of a unit. */
static inline float tg_gate_of_f32(const struct tg_sequence *sequence, const struct tg_gate_f32 *gate, int32_t unit,
    const float *x, const float *hidden)
{
    const float product = tg_product_f32(gate->recurrent + unit * sequence->units, hidden, sequence->units);

    return tg_of_input_f32(sequence, gate, unit, x) + product;
}

/** A number of at most that magnitude; any where that is 0. */
static inline float tg_clipped_f32(float number, float clip)
{
    if (clip > 0.0f) {
        return number < -clip ? -clip : number > clip ? clip : number;
    }
    return number;
}

static inline float tg_apply_f32(const struct tg_gate_function_f32 *function, float number)
{
    return function->function(number, function->parameters);
}

#endif
