/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gates of recurrent layers on float32.
 */
#ifndef TG_GATES_F32_H
#define TG_GATES_F32_H

#include "tg_recurrent.h"

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

/** One step of one sequence of a batch; the hidden state stays as it was. `run` is what the layer is called with. */
typedef void (*tg_step_f32)(const void *run, int32_t batch, const float *x, const float *hidden, float *output);

/** All steps of all sequences: results are the next hidden states, and zeros behind the end of a sequence. */
static inline void tg_steps_f32(const struct tg_sequence *sequence, const int32_t *lengths, const float *input,
    float *hidden, float *output, tg_step_f32 step, const void *run)
{
    const size_t bytes = (size_t)sequence->units * sizeof *output;

    for (int32_t batch = 0; batch < sequence->batches; batch++) {
        const int32_t length = tg_length_of(sequence, lengths, batch);
        float *own = hidden + batch * sequence->units;

        if (length == 0) {
            memset(own, 0, bytes);
        }
        for (int32_t count = 0; count < sequence->steps; count++) {
            const int32_t row = tg_row_of(sequence, batch, count, length);
            float *result = output + row * sequence->units;

            if (count < length) {
                step(run, batch, input + row * sequence->inputs, own, result);
                memcpy(own, result, bytes);
            } else {
                memset(result, 0, bytes);
            }
        }
    }
}

#endif
