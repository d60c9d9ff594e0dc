/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_gates_f32.h"

void tg_rnn_f32(
    const struct tg_rnn_f32 *layer, const float *input, const int32_t *lengths, float *hidden, float *output)
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
            const float *x = input + row * sequence->inputs;
            float *result = output + row * sequence->units;

            if (count >= length) {
                memset(result, 0, bytes);
                continue;
            }
            for (int32_t unit = 0; unit < sequence->units; unit++) {
                const float gate = tg_gate_of_f32(sequence, &layer->gates[0], unit, x, own);

                result[unit] = tg_apply_f32(layer->functions, tg_clipped_f32(gate, layer->gate_clip));
            }
            memcpy(own, result, bytes);
        }
    }
}
