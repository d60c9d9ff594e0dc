/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Long short-term memory over a sequence of TG_ELEMENT, from TG_MIN to TG_MAX; included by the function TG_FUNCTION,
 * with TG_WIDE where it is int16.
 */
#include <stddef.h>
#include <string.h>

#ifndef TG_WIDE
#include "tg_dot_s8.h"
#endif
#include "tg_fixed_point.h"
#include "tg_recurrent.h"
#include "tg_sigmoid.h"

/* Units whose sums are computed side by side. */
#define TG_UNITS 4

static int32_t saturate_s16(int32_t value)
{
    return tg_clamp_s16(value, INT16_MIN, INT16_MAX);
}

#ifdef TG_WIDE

/* Sums of 48 bits are scaled by 16 bits of the multiplier, halves up. */
static void products(const struct tg_lstm_product *terms, int32_t unit, int32_t count, const int16_t *values,
    int32_t size, int32_t *results)
{
    const int64_t *starts = terms->starts;
    const int32_t reduced = terms->multiplier < 0x7FFF0000 ? (terms->multiplier + (1 << 15)) >> 16 : 0x7FFF;

    for (int32_t each = 0; each < count; each++) {
        const int8_t *weights = terms->weights + (unit + each) * size;
        int64_t sum = starts != NULL ? starts[unit + each] : 0;

        for (int32_t i = 0; i < size; i++) {
            sum += weights[i] * values[i];
        }
        sum = (sum * reduced + ((int64_t)1 << (14 - terms->shift))) >> (15 - terms->shift);
        if (sum < INT16_MIN) {
            sum = INT16_MIN;
        } else if (sum > INT16_MAX) {
            sum = INT16_MAX;
        }
        results[each] = (int32_t)sum;
    }
}

#else

static void products(const struct tg_lstm_product *terms, int32_t unit, int32_t count, const int8_t *values,
    int32_t size, int32_t *results)
{
    const int32_t *starts = terms->starts;
    const int8_t *weights = terms->weights + unit * size;

    memset(results, 0, TG_UNITS * sizeof *results);
    if (count == TG_UNITS) {
        tg_add_4x1(weights, size, values, size, results);
    } else {
        for (int32_t each = 0; each < count; each++) {
            results[each] = tg_dot(weights + each * size, values, size);
        }
    }
    for (int32_t each = 0; each < count; each++) {
        const uint32_t start = starts != NULL ? (uint32_t)starts[unit + each] : 0U;
        const int32_t sum = (int32_t)(start + (uint32_t)results[each]);

        results[each] = saturate_s16(tg_scale(sum, terms->multiplier, terms->shift));
    }
}

#endif

/* What goes into the function of a gate of some units, in the steps of the table: 1 / 12288. */
static void positions_of(const struct tg_lstm *layer, const struct tg_lstm_gate *gate, int32_t unit, int32_t count,
    const TG_ELEMENT *x, const TG_ELEMENT *hidden, int32_t *positions)
{
    int32_t from_hidden[TG_UNITS];

    products(&gate->input, unit, count, x, layer->inputs, positions);
    products(&gate->hidden, unit, count, hidden, layer->units, from_hidden);
    for (int32_t each = 0; each < count; each++) {
        positions[each] = 3 * saturate_s16(positions[each] + from_hidden[each]);
    }
}

/* The cell after a step. */
static int32_t cell_after(const struct tg_lstm *layer, int32_t i, int32_t f, int32_t g, int32_t cell)
{
    const int32_t kept = saturate_s16(tg_scale(f * cell, layer->forget_multiplier, layer->forget_shift));
    const int32_t added = saturate_s16(tg_scale(i * g, layer->update_multiplier, layer->update_shift));
    const int32_t after = saturate_s16(kept + added);

    return layer->clip > 0 ? tg_clamp_s16(after, -layer->clip, layer->clip) : after;
}

/* The hidden state of a unit, which is its output. */
static TG_ELEMENT output_of(const struct tg_lstm *layer, int32_t o, int32_t cell)
{
    const int32_t half = layer->tanh_shift > 0 ? 1 << (layer->tanh_shift - 1) : 0;
    const int32_t position = (cell * layer->tanh_multiplier + half) >> layer->tanh_shift;
    const int32_t value =
        tg_scale(o * tg_tanh_of(layer->table, position), layer->output_multiplier, layer->output_shift) +
        layer->output_zero_point;

    if (value < TG_MIN) {
        return TG_MIN;
    }
    return (TG_ELEMENT)(value > TG_MAX ? TG_MAX : value);
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(
    const struct tg_lstm *layer, const TG_ELEMENT *x, const TG_ELEMENT *hidden, int16_t *cell, TG_ELEMENT *output)
{
    for (int32_t unit = 0; unit < layer->units; unit += TG_UNITS) {
        const int32_t left = layer->units - unit;
        const int32_t count = left < TG_UNITS ? left : TG_UNITS;
        int32_t positions[4][TG_UNITS]; /* by gate */

        for (int32_t gate = 0; gate < 4; gate++) {
            positions_of(layer, &layer->gates[gate], unit, count, x, hidden, positions[gate]);
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

void TG_FUNCTION(
    const struct tg_lstm *layer, const TG_ELEMENT *input, TG_ELEMENT *hidden, int16_t *cell, TG_ELEMENT *output)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        TG_ELEMENT *own = hidden + batch * layer->units;

        for (int32_t time = 0; time < layer->steps; time++) {
            const int32_t row = layer->is_time_major != 0 ? time * layer->batches + batch : batch * layer->steps + time;
            TG_ELEMENT *result = output + row * layer->units;

            step(layer, input + row * layer->inputs, own, cell + batch * layer->units, result);
            memcpy(own, result, (size_t)layer->units * sizeof *own);
        }
    }
}
