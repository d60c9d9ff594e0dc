/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Long short-term memory over a sequence of TG_ELEMENT, from TG_MIN to TG_MAX; included by the function TG_FUNCTION,
 * with TG_WIDE where it is int16.
 */
#include "tg_gates.h"

/* The cell after a step. */
static int32_t cell_after(const struct tg_lstm *layer, int32_t i, int32_t f, int32_t g, int32_t cell)
{
    const int32_t kept = tg_saturate_s16(tg_scaled(f * cell, &layer->forget));
    const int32_t added = tg_saturate_s16(tg_scaled(i * g, &layer->update));
    const int32_t after = tg_saturate_s16(kept + added);

    return layer->clip > 0 ? tg_clamp_s16(after, -layer->clip, layer->clip) : after;
}

/* The hidden state of a unit, which is its output. */
static TG_ELEMENT output_of(const struct tg_lstm *layer, int32_t o, int32_t cell)
{
    const int32_t half = layer->tanh_shift > 0 ? 1 << (layer->tanh_shift - 1) : 0;
    const int32_t position = (cell * layer->tanh_multiplier + half) >> layer->tanh_shift;

    return tg_hidden_of(o * tg_tanh_of(layer->table, position), &layer->output, layer->output_zero_point);
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(
    const struct tg_lstm *layer, const TG_ELEMENT *x, const TG_ELEMENT *hidden, int16_t *cell, TG_ELEMENT *output)
{
    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t positions[4][TG_UNITS]; /* by gate */

        for (int32_t gate = 0; gate < 4; gate++) {
            tg_positions_of(&layer->sequence, &layer->gates[gate], unit, count, x, hidden, positions[gate]);
        }
        for (int32_t each = 0; each < count; each++) {
            const int32_t i = tg_sigmoid_of(layer->table, positions[0][each]);
            const int32_t f = tg_sigmoid_of(layer->table, positions[1][each]);
            const int32_t g = tg_tanh_of(layer->table, positions[2][each]);
            const int32_t o = tg_sigmoid_of(layer->table, positions[3][each]);
            const int32_t after = cell_after(layer, i, f, g, cell[unit + each]);

            cell[unit + each] = (int16_t)after;
            output[unit + each] = output_of(layer, o, after);
        }
    }
}

void TG_FUNCTION(const struct tg_lstm *layer, const TG_ELEMENT *input, const int32_t *lengths, TG_ELEMENT *hidden,
    int16_t *cell, TG_ELEMENT *output)
{
    const struct tg_sequence *sequence = &layer->sequence;
    const int32_t units = sequence->units;

    for (int32_t batch = 0; batch < sequence->batches; batch++) {
        const int32_t length = tg_length_of(sequence, lengths, batch);
        TG_ELEMENT *own = hidden + batch * units;

        if (length == 0) {
            tg_fill(own, units, layer->output_zero_point);
            memset(cell + batch * units, 0, (size_t)units * sizeof *cell);
        }
        for (int32_t count = 0; count < sequence->steps; count++) {
            const int32_t row = tg_row_of(sequence, batch, count, length);
            TG_ELEMENT *result = output + row * units;

            if (count < length) {
                step(layer, input + row * sequence->inputs, own, cell + batch * units, result);
                memcpy(own, result, (size_t)units * sizeof *own);
            } else {
                tg_fill(result, units, layer->output_zero_point);
            }
        }
    }
}
