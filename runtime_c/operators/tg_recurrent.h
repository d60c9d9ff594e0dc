/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers that keep states, from call to call or from step to step. States are written where they lie.
 */
#ifndef TG_RECURRENT_H
#define TG_RECURRENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h> /* for whoever begins with states */

#include "tg_functions_f32.h"
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

/** A sequence: [steps][batches][inputs], or [batches][steps][inputs]; what comes out has units in place of inputs. */
struct tg_sequence {
    int32_t batches;
    int32_t steps;
    int32_t inputs;
    int32_t units;
    int32_t is_time_major; /**< steps come first */
    int32_t is_reversed;   /**< the last element is the first that is read */
};

/** Elements of a sequence that there are; all where `lengths` is NULL. */
static inline int32_t tg_length_of(const struct tg_sequence *sequence, const int32_t *lengths, int32_t batch)
{
    if (lengths == NULL || lengths[batch] > sequence->steps) {
        return sequence->steps;
    }
    return lengths[batch] > 0 ? lengths[batch] : 0;
}

/** The row of the element that is read after `count` others; of elements behind the end, the row they would have. */
static inline int32_t tg_row_of(const struct tg_sequence *sequence, int32_t batch, int32_t count, int32_t length)
{
    const int32_t time = sequence->is_reversed != 0 && count < length ? length - 1 - count : count;

    return sequence->is_time_major != 0 ? time * sequence->batches + batch : batch * sequence->steps + time;
}

/** Weights of all units times values, from a start a unit on, to Q3.12. */
struct tg_gate_product {
    const int8_t *weights; /**< [units][values] */
    const void *starts;    /**< one a unit, int32_t, of int16 int64_t; NULL for 0 */
    int32_t multiplier;    /**< Q31; that of int16 is rounded to Q15 */
    int32_t shift;         /**< of int16 at most 7 */
};

/** What goes into the function of a gate. Each product is saturated to 16 bits, and their sum again. */
struct tg_gate {
    struct tg_gate_product input;
    struct tg_gate_product hidden;
};

/** Q31. */
struct tg_gate_scaling {
    int32_t multiplier;
    int32_t shift;
};

/** Long short-term memory over a sequence. */
struct tg_lstm {
    struct tg_sequence sequence;
    struct tg_gate gates[4];       /**< input, forget, cell, output */
    struct tg_gate_scaling forget; /**< from forget gate times cell to cells */
    struct tg_gate_scaling update; /**< from input times cell gate to cells */
    int32_t tanh_multiplier;       /**< a cell times this / 2^tanh_shift counts in 1 / 12288 */
    int32_t tanh_shift;            /**< 0 or more */
    struct tg_gate_scaling output; /**< from output gate times tanh of the cell to hidden states */
    int32_t output_zero_point;
    int32_t clip;         /**< largest magnitude of a cell, 0 for none */
    const int16_t *table; /**< 256 values of sigmoid(i / 24) - 1/2 in Q16 */
};

/**
 * `lengths` is NULL or has one for each batch; `hidden` and `cell` are [batches][units], and hold the next states
 * afterwards, zeros of sequences without elements. Output must not overlap the input; behind the end of a sequence it
 * is zero.
 */
void tg_lstm_s8(const struct tg_lstm *layer, const int8_t *input, const int32_t *lengths, int8_t *hidden, int16_t *cell,
    int8_t *output);

/** The same on int16, with biases of int64 and zero points of 0. */
void tg_lstm_s16(const struct tg_lstm *layer, const int16_t *input, const int32_t *lengths, int16_t *hidden,
    int16_t *cell, int16_t *output);

/** Gated recurrent units over a sequence. */
struct tg_gru {
    struct tg_sequence sequence;
    struct tg_gate gates[3];       /**< update, reset, new */
    int32_t is_reset_behind;       /**< the reset gate is multiplied with products with the hidden state */
    struct tg_gate_scaling memory; /**< from hidden states to those of 16 bits */
    struct tg_gate_scaling keep;   /**< from update gate times memory to memory */
    struct tg_gate_scaling update; /**< from what the update gate leaves times what is new to memory */
    struct tg_gate_scaling reset;  /**< from reset gate times products to Q3.12, or times memory to hidden states */
    struct tg_gate_scaling output; /**< from memory to hidden states */
    int32_t output_zero_point;
    const int16_t *table; /**< as that of `struct tg_lstm` */
};

/** As tg_lstm_s8(); `scratch` is int16_t [3][units]. */
void tg_gru_s8(const struct tg_gru *layer, const int8_t *input, const int32_t *lengths, int8_t *hidden, int8_t *output,
    void *scratch);

/** The same on int16. */
void tg_gru_s16(const struct tg_gru *layer, const int16_t *input, const int32_t *lengths, int16_t *hidden,
    int16_t *output, void *scratch);

/** A plain recurrent layer with tanh over a sequence. */
struct tg_rnn {
    struct tg_sequence sequence;
    struct tg_gate gates[1];
    struct tg_gate_scaling output; /**< from tanh to hidden states */
    int32_t output_zero_point;
    const int16_t *table; /**< as that of `struct tg_lstm` */
};

/** As tg_lstm_s8(). */
void tg_rnn_s8(const struct tg_rnn *layer, const int8_t *input, const int32_t *lengths, int8_t *hidden, int8_t *output);

/** The same on int16. */
void tg_rnn_s16(
    const struct tg_rnn *layer, const int16_t *input, const int32_t *lengths, int16_t *hidden, int16_t *output);

/** A function with its parameters. */
struct tg_gate_function_f32 {
    tg_function_f32 *function;
    float parameters[2];
};

/** Weights of all units times values, of a gate on real numbers. */
struct tg_gate_f32 {
    const float *kernel;    /**< [units][inputs] */
    const float *recurrent; /**< [units][units] */
    const float *bias;
};

/** Long short-term memory on real numbers. */
struct tg_lstm_f32 {
    struct tg_sequence sequence;
    struct tg_gate_f32 gates[4];
    struct tg_gate_function_f32 functions[3]; /**< of gates, of the cell gate, of cells */
    const float *peepholes[3];                /**< times the cell, into input, forget and output gate; NULL for none */
    float gate_clip;                          /**< largest magnitude of what goes into a gate, 0 for none */
    float cell_clip;                          /**< of a cell */
    int32_t is_coupled;                       /**< the forget gate is 1 minus the input gate */
};

/** As tg_lstm_s8(). */
void tg_lstm_f32(const struct tg_lstm_f32 *layer, const float *input, const int32_t *lengths, float *hidden,
    float *cell, float *output);

/** Gated recurrent units on real numbers. */
struct tg_gru_f32 {
    struct tg_sequence sequence;
    struct tg_gate_f32 gates[3];
    struct tg_gate_function_f32 functions[2]; /**< of gates, of what is new */
    const float *hidden_bias;                 /**< with the reset behind products with the hidden state; else NULL */
    float gate_clip;
};

/** As tg_lstm_s8(); `scratch` is float [units]. */
void tg_gru_f32(const struct tg_gru_f32 *layer, const float *input, const int32_t *lengths, float *hidden,
    float *output, void *scratch);

/** A plain recurrent layer on real numbers. */
struct tg_rnn_f32 {
    struct tg_sequence sequence;
    struct tg_gate_f32 gates[1];
    struct tg_gate_function_f32 functions[1];
    float gate_clip;
};

/** As tg_lstm_s8(). */
void tg_rnn_f32(
    const struct tg_rnn_f32 *layer, const float *input, const int32_t *lengths, float *hidden, float *output);

#endif
