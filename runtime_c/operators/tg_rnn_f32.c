/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_gates_f32.h"

static void step(const void *arguments, void *state, int32_t batch, const float *x, const float *hidden, float *output)
{
    const struct tg_rnn_f32 *layer = arguments;

    (void)state;
    (void)batch;
    for (int32_t unit = 0; unit < layer->sequence.units; unit++) {
        const float gate = tg_gate_of_f32(&layer->sequence, &layer->gates[0], unit, x, hidden);

        output[unit] = tg_apply_f32(layer->functions, tg_clipped_f32(gate, layer->gate_clip));
    }
}

void tg_rnn_f32(
    const struct tg_rnn_f32 *layer, const float *input, const int32_t *lengths, float *hidden, float *output)
{
    tg_steps(&layer->sequence, lengths, input, hidden, output, 0, step, layer, NULL);
}
