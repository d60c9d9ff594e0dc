/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Long short-term memory over a sequence of TG_ELEMENT, from TG_MIN to TG_MAX; included by the function TG_FUNCTION,
 * with TG_WIDE where it is int16.
 */
#include "tg_gates.h"

/* What goes into tanh of cells, in the steps of the table. */
static void cell_positions(const struct tg_lstm *layer, const int32_t *cells, int32_t count, int32_t *positions)
{
    const int32_t half = layer->tanh_shift > 0 ? 1 << (layer->tanh_shift - 1) : 0;

    for (int32_t each = 0; each < count; each++) {
        positions[each] = (cells[each] * layer->tanh_multiplier + half) >> layer->tanh_shift;
    }
}

/* The next cells of some units, from their gates, and the hidden states, which are the output. */
static void update(
    const struct tg_lstm *layer, int32_t gates[4][TG_UNITS], int32_t count, int16_t *cell, TG_ELEMENT *output)
{
    int32_t cells[TG_UNITS] = {0};
    int32_t positions[TG_UNITS] = {0};

    for (int32_t each = 0; each < count; each++) {
        cells[each] = cell[each];
    }
    tg_multiply_units(cells, gates[1], count);
    tg_scale_units_by(cells, count, &layer->forget);
    tg_multiply_units(gates[0], gates[2], count);
    tg_scale_units_by(gates[0], count, &layer->update);
    tg_add_units(cells, gates[0], count);
    for (int32_t each = 0; each < count; each++) {
        cells[each] = layer->clip > 0 ? tg_clamp_s16(cells[each], -layer->clip, layer->clip) : cells[each];
        cell[each] = (int16_t)cells[each];
    }
    cell_positions(layer, cells, count, positions);
    tg_tanh_units(layer->table, positions, count);
    tg_multiply_units(positions, gates[3], count);
    tg_hide(positions, count, &layer->output, layer->output_zero_point, output);
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(const void *arguments, void *state, int32_t batch, const TG_ELEMENT *x, const TG_ELEMENT *hidden,
    TG_ELEMENT *output)
{
    const struct tg_lstm *layer = arguments;
    int16_t *cell = (int16_t *)state + batch * layer->sequence.units;

    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t gates[4][TG_UNITS];

        for (int32_t gate = 0; gate < 4; gate++) {
            tg_positions_of(&layer->sequence, &layer->gates[gate], unit, count, x, hidden, gates[gate]);
        }
        tg_sigmoid_units(layer->table, gates[0], count);
        tg_sigmoid_units(layer->table, gates[1], count);
        tg_tanh_units(layer->table, gates[2], count);
        tg_sigmoid_units(layer->table, gates[3], count);
        update(layer, gates, count, cell + unit, output + unit);
    }
}

void TG_FUNCTION(const struct tg_lstm *layer, const TG_ELEMENT *input, const int32_t *lengths, TG_ELEMENT *hidden,
    int16_t *cell, TG_ELEMENT *output)
{
    tg_forget(&layer->sequence, lengths, cell, sizeof *cell);
    tg_steps(&layer->sequence, lengths, input, hidden, output, layer->output_zero_point, step, layer, cell);
}
