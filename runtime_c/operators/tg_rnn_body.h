/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plain recurrent layer over a sequence of TG_ELEMENT, from TG_MIN to TG_MAX; included by the function TG_FUNCTION,
 * with TG_WIDE where it is int16.
 */
#include "tg_gates.h"

/* One step of one sequence; the hidden state stays as it was. */
static void step(const void *arguments, void *state, int32_t batch, const TG_ELEMENT *x, const TG_ELEMENT *hidden,
    TG_ELEMENT *output)
{
    const struct tg_rnn *layer = arguments;

    (void)state;
    (void)batch;
    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t positions[TG_UNITS] = {0};

        tg_positions_of(&layer->sequence, &layer->gates[0], unit, count, x, hidden, positions);
        tg_tanh_units(layer->table, positions, count);
        tg_hide(positions, count, &layer->output, layer->output_zero_point, output + unit);
    }
}

void TG_FUNCTION(
    const struct tg_rnn *layer, const TG_ELEMENT *input, const int32_t *lengths, TG_ELEMENT *hidden, TG_ELEMENT *output)
{
    tg_steps(&layer->sequence, lengths, input, hidden, output, layer->output_zero_point, step, layer, NULL);
}
