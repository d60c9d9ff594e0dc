/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_gates_f32.h"

/* One step of one sequence; the hidden state stays as it was. */
static void step(const struct tg_gru_f32 *layer, const float *x, const float *hidden, float *resets, float *output)
{
    const struct tg_sequence *sequence = &layer->sequence;
    const int32_t units = sequence->units;
    const int is_behind = layer->hidden_bias != NULL;

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
    const struct tg_sequence *sequence = &layer->sequence;
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
                step(layer, input + row * sequence->inputs, own, scratch, result);
                memcpy(own, result, bytes);
            } else {
                memset(result, 0, bytes);
            }
        }
    }
}
