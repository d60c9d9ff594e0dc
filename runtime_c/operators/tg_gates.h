/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Gates of recurrent layers on TG_ELEMENT, from TG_MIN to TG_MAX; TG_WIDE where that is int16. For one source each.
 */
#ifndef TG_GATES_H
#define TG_GATES_H

#include <stddef.h>
#include <string.h>

#ifdef TG_WIDE
#include "tg_dot_s8_wide.h"
#else
#include "tg_dot_s8.h"
#endif
#include "tg_fixed_point.h"
#include "tg_steps.h"
#include "tg_units.h"

static inline void tg_scale_units_by(int32_t *values, int32_t count, const struct tg_gate_scaling *scaling)
{
    tg_scale_units(values, count, scaling->multiplier, scaling->shift);
}

/* Hidden states of some units; numbers are within 16 bits when they are scaled. */
static inline void tg_hide(
    int32_t *values, int32_t count, const struct tg_gate_scaling *scaling, int32_t zero_point, TG_ELEMENT *hidden)
{
    tg_scale_units_by(values, count, scaling);
    for (int32_t each = 0; each < count; each++) {
        const int32_t value = values[each] + zero_point;

        hidden[each] = (TG_ELEMENT)(value < TG_MIN ? TG_MIN : value > TG_MAX ? TG_MAX : value);
    }
}

#ifdef TG_WIDE

/* Sums of some units, scaled; those that are missing are zeros. Sums have 48 bits, of the multiplier 16, halves up. */
static void tg_products(const struct tg_gate_product *terms, int32_t unit, int32_t count, const int16_t *values,
    int32_t size, int32_t *results)
{
    const int64_t *starts = terms->starts;
    const int32_t reduced = terms->multiplier < 0x7FFF0000 ? (terms->multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int32_t right = 15 - terms->shift;
    const int64_t half = (int64_t)1 << (right - 1);

    const int8_t *weights = terms->weights + unit * size;
    int64_t sums[TG_UNITS];

    for (int32_t each = 0; each < TG_UNITS; each++) {
        sums[each] = starts != NULL && each < count ? starts[unit + each] : 0;
    }
    if (count == TG_UNITS) {
        tg_add_4x1_wide(weights, size, values, size, sums);
    } else {
        for (int32_t each = 0; each < count; each++) {
            sums[each] = tg_add_dot_wide(sums[each], weights + each * size, values, size);
        }
    }
    for (int32_t each = 0; each < TG_UNITS; each++) {
        const int64_t sum = (sums[each] * reduced + half) >> right;

        results[each] = (int32_t)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
    }
}

#else

/* Sums of some units, scaled; those that are missing are zeros. */
static void tg_products(const struct tg_gate_product *terms, int32_t unit, int32_t count, const int8_t *values,
    int32_t size, int32_t *results)
{
    const int32_t *starts = terms->starts;
    const int8_t *weights = terms->weights + unit * size;

    memset(results, 0, TG_UNITS * sizeof *results);
    if (count == TG_UNITS) {
        if (starts != NULL) {
            memcpy(results, starts + unit, TG_UNITS * sizeof *results);
        }
        tg_add_4x1(weights, size, values, size, results);
    } else {
        for (int32_t each = 0; each < count; each++) {
            const int32_t start = starts != NULL ? starts[unit + each] : 0;

            results[each] = tg_add_dot(start, weights + each * size, values, size);
        }
    }
    tg_scale_units(results, count, terms->multiplier, terms->shift);
}

#endif

/* What goes into the function of a gate of some units, in the steps of the table: 1 / 12288. */
static inline void tg_positions_of(const struct tg_sequence *sequence, const struct tg_gate *gate, int32_t unit,
    int32_t count, const TG_ELEMENT *x, const TG_ELEMENT *hidden, int32_t *positions)
{
    int32_t from_hidden[TG_UNITS];

    tg_products(&gate->input, unit, count, x, sequence->inputs, positions);
    tg_products(&gate->hidden, unit, count, hidden, sequence->units, from_hidden);
    tg_add_units(positions, from_hidden, count);
    tg_multiply_units_by(positions, 3, count);
}

/* How many of the units from `unit` on are computed side by side. */
static inline int32_t tg_units_from(const struct tg_sequence *sequence, int32_t unit)
{
    const int32_t left = sequence->units - unit;

    return left < TG_UNITS ? left : TG_UNITS;
}

#endif
