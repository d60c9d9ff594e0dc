/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on integers, included once for each element type: of VALUE elements, UNSIGNED of the same size, in the
 * function ARITHMETIC.
 */
#include "tg_broadcast_any.h"
#include "tg_numbers.h"

/** The quotient, cut off or (where it is to be `floored`) the next integer below; it wraps for the least by -1. */
static VALUE quotient(VALUE first, VALUE second, int floored)
{
    if (second == 0) {
        return 0;
    }
    if (second == -1) {
        return (VALUE)(~(UNSIGNED)first + 1U);
    }
    const VALUE cut = first / second;
    return floored && first % second != 0 && (first < 0) != (second < 0) ? cut - 1 : cut;
}

/** value / 2^bits, rounded down. */
static VALUE shifted(VALUE value, VALUE bits)
{
    const VALUE most = (VALUE)(8U * sizeof(VALUE) - 1U);
    const VALUE taken = bits < 0 ? 0 : (bits < most ? bits : most);

    return value < 0 ? (VALUE) ~(~(UNSIGNED)value >> taken) : (VALUE)((UNSIGNED)value >> taken);
}

static VALUE computed(enum tg_integer_function function, VALUE first, VALUE second)
{
    const UNSIGNED a = (UNSIGNED)first;
    const UNSIGNED b = (UNSIGNED)second;

    switch (function) {
    case TG_INTEGER_ADD:
        return (VALUE)(a + b);
    case TG_INTEGER_SUB:
        return (VALUE)(a - b);
    case TG_INTEGER_MUL:
        return (VALUE)(a * b);
    case TG_INTEGER_DIV:
        return quotient(first, second, 0);
    case TG_INTEGER_FLOOR_DIV:
        return quotient(first, second, 1);
    case TG_INTEGER_FLOOR_MOD:
        return second == 0 ? 0 : (VALUE)(a - (UNSIGNED)quotient(first, second, 1) * b);
    case TG_INTEGER_MAXIMUM:
        return first > second ? first : second;
    case TG_INTEGER_MINIMUM:
        return first < second ? first : second;
    case TG_INTEGER_BIT_AND:
        return (VALUE)(a & b);
    case TG_INTEGER_BIT_OR:
        return (VALUE)(a | b);
    case TG_INTEGER_BIT_XOR:
        return (VALUE)(a ^ b);
    case TG_INTEGER_SHIFT_RIGHT:
        return shifted(first, second);
    default:
        return (VALUE)((a - b) * (a - b));
    }
}

static void compute_row(const void *params, const struct tg_any_row *row)
{
    const struct tg_integer_arithmetic *const p = params;
    const VALUE *first = row->first;
    const VALUE *second = row->second;
    VALUE *output = row->output;

    for (int32_t i = 0; i < row->size; i++) {
        const VALUE value = computed(p->function, *first, *second);
        output[i] = value < p->min ? (VALUE)p->min : (value > p->max ? (VALUE)p->max : value);
        first += row->first_step;
        second += row->second_step;
    }
}

void ARITHMETIC(const struct tg_broadcast *shape, const struct tg_integer_arithmetic *params, const VALUE *first,
    const VALUE *second, VALUE *output)
{
    tg_broadcast_any(shape, (int32_t)sizeof(VALUE), (int32_t)sizeof(VALUE), compute_row, params, first, second, output);
}
