/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gated recurrent units over a sequence of TG_ELEMENT, from TG_MIN to TG_MAX; included by the function TG_FUNCTION,
 * with TG_WIDE where it is int16.
 */
#include "tg_gates.h"

/* What a step reads beside the input, and what it leaves. */
struct numbers {
    TG_ELEMENT *hidden;
    int16_t *memory;   /* the same in 16 bits */
    int16_t *update;   /* update gate */
    TG_ELEMENT *reset; /* hidden states times reset gate, or that gate: as many bytes are there as for 16 bits */
};

/* Update and reset gate of all units. */
static void gates_of(const struct tg_gru *layer, const TG_ELEMENT *x, const struct numbers *numbers)
{
    int16_t *resets = (int16_t *)(void *)numbers->reset;

    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t gates[2][TG_UNITS] = {{0}};

        for (int32_t gate = 0; gate < 2; gate++) {
            tg_positions_of(&layer->sequence, &layer->gates[gate], unit, count, x, numbers->hidden, gates[gate]);
            tg_sigmoid_units(layer->table, gates[gate], count);
        }
        for (int32_t each = 0; each < count; each++) {
            numbers->update[unit + each] = (int16_t)gates[0][each];
            if (layer->is_reset_behind != 0) {
                resets[unit + each] = (int16_t)gates[1][each];
            } else {
                gates[1][each] *= numbers->memory[unit + each];
            }
        }
        if (layer->is_reset_behind == 0) {
            tg_hide(gates[1], count, &layer->reset, layer->output_zero_point, numbers->reset + unit);
        }
    }
}

/* What is new, in Q15, of some units. */
static void new_of(const struct tg_gru *layer, int32_t unit, int32_t count, const TG_ELEMENT *x,
    const struct numbers *numbers, int32_t *results)
{
    const int16_t *resets = (const int16_t *)(const void *)numbers->reset;
    const int is_behind = layer->is_reset_behind != 0;
    int32_t products[TG_UNITS] = {0};

    tg_products(&layer->gates[2].input, unit, count, x, layer->sequence.inputs, results);
    tg_products(&layer->gates[2].hidden, unit, count, is_behind ? numbers->hidden : numbers->reset,
        layer->sequence.units, products);
    if (is_behind) {
        for (int32_t each = 0; each < count; each++) {
            products[each] *= resets[unit + each];
        }
        tg_scale_units_by(products, count, &layer->reset);
    }
    tg_add_units(results, products, count);
    tg_multiply_units_by(results, 3, count);
    tg_tanh_units(layer->table, results, count);
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(const void *arguments, void *state, int32_t batch, const TG_ELEMENT *x, const TG_ELEMENT *hidden,
    TG_ELEMENT *output)
{
    const struct tg_gru *layer = arguments;
    const struct numbers *numbers = state;

    (void)batch;
    (void)hidden; /* it is among the numbers */
    gates_of(layer, x, numbers);
    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t news[TG_UNITS] = {0};
        int32_t kept[TG_UNITS] = {0};

        new_of(layer, unit, count, x, numbers, news);
        for (int32_t each = 0; each < count; each++) {
            kept[each] = numbers->update[unit + each] * numbers->memory[unit + each];
            news[each] *= (1 << 15) - numbers->update[unit + each];
        }
        tg_scale_units_by(kept, count, &layer->keep);
        tg_scale_units_by(news, count, &layer->update);
        tg_add_units(kept, news, count);
        for (int32_t each = 0; each < count; each++) {
            numbers->memory[unit + each] = (int16_t)kept[each];
        }
        tg_hide(kept, count, &layer->output, layer->output_zero_point, output + unit);
    }
}

/* Hidden states in 16 bits. */
static void remember(const struct tg_gru *layer, const TG_ELEMENT *hidden, int16_t *memory)
{
    for (int32_t unit = 0; unit < layer->sequence.units; unit += TG_UNITS) {
        const int32_t count = tg_units_from(&layer->sequence, unit);
        int32_t values[TG_UNITS] = {0};

        for (int32_t each = 0; each < count; each++) {
            values[each] = hidden[unit + each] - layer->output_zero_point;
        }
        tg_scale_units_by(values, count, &layer->memory);
        for (int32_t each = 0; each < count; each++) {
            memory[unit + each] = (int16_t)values[each];
        }
    }
}

void TG_FUNCTION(const struct tg_gru *layer, const TG_ELEMENT *input, const int32_t *lengths, TG_ELEMENT *hidden,
    TG_ELEMENT *output, void *scratch)
{
    const int32_t units = layer->sequence.units;
    int16_t *memory = scratch;

    for (int32_t batch = 0; batch < layer->sequence.batches; batch++) {
        TG_ELEMENT *own = hidden + batch * units;
        struct numbers numbers = {own, memory, memory + units, (TG_ELEMENT *)(void *)(memory + 2 * units)};

        remember(layer, own, memory);
        tg_steps_of(
            &layer->sequence, batch, lengths, input, own, output, layer->output_zero_point, step, layer, &numbers);
    }
}
