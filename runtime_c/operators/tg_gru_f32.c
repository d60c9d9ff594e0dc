/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_gates_f32.h"

static void step(const void *arguments, void *state, int32_t batch, const float *x, const float *hidden, float *output)
{
    const struct tg_gru_f32 *layer = arguments;
    float *resets = state; /* of each unit */
    const struct tg_sequence *sequence = &layer->sequence;
    const int32_t units = sequence->units;
    const int is_behind = layer->hidden_bias != NULL;

    (void)batch;
    for (int32_t unit = 0; unit < units; unit++) {
        const float update = tg_gate_of_f32(sequence, &layer->gates[0], unit, x, hidden);
        const float gate = tg_gate_of_f32(sequence, &layer->gates[1], unit, x, hidden);
        const float reset = tg_apply_f32(layer->functions, tg_clipped_f32(gate, layer->gate_clip));

        output[unit] = tg_apply_f32(layer->functions, tg_clipped_f32(update, layer->gate_clip));
        resets[unit] = is_behind ? reset : reset * hidden[unit];
    }
    for (int32_t unit = 0; unit < units; unit++) {
        const float *recurrent = layer->gates[2].recurrent + unit * units;
        const float update = output[unit];
        float gate = tg_of_input_f32(sequence, &layer->gates[2], unit, x);

        if (is_behind) {
            gate += resets[unit] * (tg_product_f32(recurrent, hidden, units) + layer->hidden_bias[unit]);
        } else {
            gate += tg_product_f32(recurrent, resets, units);
        }
        output[unit] = (1.0f - update) * tg_apply_f32(layer->functions + 1, tg_clipped_f32(gate, layer->gate_clip)) +
                       update * hidden[unit];
    }
}

void tg_gru_f32(const struct tg_gru_f32 *layer, const float *input, const int32_t *lengths, float *hidden,
    float *output, void *scratch)
{
    tg_steps(&layer->sequence, lengths, input, hidden, output, 0, step, layer, scratch);
}
