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

#ifdef TG_WIDE

/* Sums of 48 bits are scaled by 16 bits of the multiplier, halves up. */
static int32_t product(const struct tg_lstm_product *terms, int32_t unit, const int16_t *values, int32_t size)
{
    const int8_t *weights = terms->weights + unit * size;
    const int64_t *starts = terms->starts;
    const int32_t reduced = terms->multiplier < 0x7FFF0000 ? (terms->multiplier + (1 << 15)) >> 16 : 0x7FFF;
    int64_t sum = starts != NULL ? starts[unit] : 0;

    for (int32_t i = 0; i < size; i++) {
        sum += weights[i] * values[i];
    }
    sum = (sum * reduced + ((int64_t)1 << (14 - terms->shift))) >> (15 - terms->shift);
    if (sum < INT16_MIN) {
        return INT16_MIN;
    }
    return (int32_t)(sum > INT16_MAX ? INT16_MAX : sum);
}

#else

static int32_t product(const struct tg_lstm_product *terms, int32_t unit, const int8_t *values, int32_t size)
{
    const int32_t *starts = terms->starts;
    const uint32_t start = starts != NULL ? (uint32_t)starts[unit] : 0U;
    const uint32_t sum = start + (uint32_t)tg_dot(terms->weights + unit * size, values, size);

    return tg_scale((int32_t)sum, terms->multiplier, terms->shift);
}

#endif

static int32_t saturate_s16(int32_t value)
{
    return tg_clamp_s16(value, INT16_MIN, INT16_MAX);
}

/* What goes into the function of a gate of one unit, in the steps of the table: 1 / 12288. */
static int32_t position_of(
    const struct tg_lstm *layer, int32_t gate, int32_t unit, const TG_ELEMENT *x, const TG_ELEMENT *hidden)
{
    const int32_t from_input = product(&layer->gates[gate].input, unit, x, layer->inputs);
    const int32_t from_hidden = product(&layer->gates[gate].hidden, unit, hidden, layer->units);

    return 3 * saturate_s16(saturate_s16(from_input) + saturate_s16(from_hidden));
}

/* One step of one sequence; the hidden state stays as it was. */
static void step(
    const struct tg_lstm *layer, const TG_ELEMENT *x, const TG_ELEMENT *hidden, int16_t *cell, TG_ELEMENT *output)
{
    const int32_t half = layer->tanh_shift > 0 ? 1 << (layer->tanh_shift - 1) : 0;

    for (int32_t unit = 0; unit < layer->units; unit++) {
        const int32_t i = tg_sigmoid_of(layer->table, position_of(layer, 0, unit, x, hidden));
        const int32_t f = tg_sigmoid_of(layer->table, position_of(layer, 1, unit, x, hidden));
        const int32_t g = tg_tanh_of(layer->table, position_of(layer, 2, unit, x, hidden));
        const int32_t o = tg_sigmoid_of(layer->table, position_of(layer, 3, unit, x, hidden));
        const int32_t kept = saturate_s16(tg_scale(f * cell[unit], layer->forget_multiplier, layer->forget_shift));
        const int32_t added = saturate_s16(tg_scale(i * g, layer->update_multiplier, layer->update_shift));
        int32_t after = saturate_s16(kept + added);
        int32_t value;

        if (layer->clip > 0) {
            after = tg_clamp_s16(after, -layer->clip, layer->clip);
        }
        cell[unit] = (int16_t)after;
        value = tg_tanh_of(layer->table, (after * layer->tanh_multiplier + half) >> layer->tanh_shift);
        value = tg_scale(o * value, layer->output_multiplier, layer->output_shift) + layer->output_zero_point;
        if (value < TG_MIN) {
            value = TG_MIN;
        } else if (value > TG_MAX) {
            value = TG_MAX;
        }
        output[unit] = (TG_ELEMENT)value;
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
