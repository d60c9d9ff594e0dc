/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_gates_f32.h"

static float through(const struct tg_lstm_f32 *layer, int32_t number, int32_t unit, float cell)
{
    return layer->peepholes[number] != NULL ? layer->peepholes[number][unit] * cell : 0.0f;
}

static float opened(const struct tg_lstm_f32 *layer, const struct tg_gate_function_f32 *function, float number)
{
    return tg_apply_f32(function, tg_clipped_f32(number, layer->gate_clip));
}

static void step(const void *arguments, void *state, int32_t batch, const float *x, const float *hidden, float *output)
{
    const struct tg_lstm_f32 *layer = arguments;
    float *cell = (float *)state + batch * layer->sequence.units;
    const struct tg_gate_function_f32 *functions = layer->functions;

    for (int32_t unit = 0; unit < layer->sequence.units; unit++) {
        const float before = cell[unit];
        float gates[4];
        float i;
        float f;
        float after;

        for (int32_t gate = 0; gate < 4; gate++) {
            gates[gate] = tg_gate_of_f32(&layer->sequence, &layer->gates[gate], unit, x, hidden);
        }
        i = opened(layer, functions, gates[0] + through(layer, 0, unit, before));
        f = layer->is_coupled != 0 ? 1.0f - i : opened(layer, functions, gates[1] + through(layer, 1, unit, before));
        after = tg_clipped_f32(f * before + i * opened(layer, functions + 1, gates[2]), layer->cell_clip);
        cell[unit] = after;
        output[unit] =
            opened(layer, functions, gates[3] + through(layer, 2, unit, after)) * tg_apply_f32(functions + 2, after);
    }
}

void tg_lstm_f32(const struct tg_lstm_f32 *layer, const float *input, const int32_t *lengths, float *hidden,
    float *cell, float *output)
{
    const struct tg_sequence *sequence = &layer->sequence;

    tg_forget(sequence, lengths, cell, sizeof *cell);
    tg_steps(sequence, lengths, input, hidden, output, 0, step, layer, cell);
}
