/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loops over two broadcast operands of any element type.
 */
#ifndef TG_BROADCAST_ANY_H
#define TG_BROADCAST_ANY_H

#include "tg_elementwise.h"
#include "tg_operator_names.h"

/** The innermost axis: operands advance by their steps, which are 0 or 1. */
struct tg_any_row {
    const void *first;
    const void *second;
    void *output;
    int32_t first_step;
    int32_t second_step;
    int32_t size;
};

/** Computes one row; `params` is what the operator handed to tg_broadcast_any(). */
typedef void tg_any_row_function(const void *params, const struct tg_any_row *row);

/** Calls `function` for each row of the output, in order; sizes are those of one element, in bytes. */
void tg_broadcast_any(const struct tg_broadcast *shape, int32_t operand_bytes, int32_t output_bytes,
    tg_any_row_function *function, const void *params, const void *first, const void *second, void *output);

#endif
