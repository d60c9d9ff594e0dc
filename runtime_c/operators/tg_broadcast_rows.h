/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What operators on two broadcast tensors share.
 */
#ifndef TG_BROADCAST_ROWS_H
#define TG_BROADCAST_ROWS_H

#include "tg_elementwise.h"
#include "tg_operator_names.h"

/** The innermost axis: operands advance by their steps, which are 0 or 1. */
struct tg_row {
    const int8_t *first;
    const int8_t *second;
    int8_t *output;
    int32_t first_step;
    int32_t second_step;
    int32_t size;
};

/** Computes one row; `params` is what the operator handed to tg_broadcast_rows(). */
typedef void tg_row_function(const void *params, const struct tg_row *row);

/** Calls `function` for each row of the output, in order. */
void tg_broadcast_rows(const struct tg_broadcast *shape, tg_row_function *function, const void *params,
    const int8_t *first, const int8_t *second, int8_t *output);

#endif
