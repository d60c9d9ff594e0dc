/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of two rows of float32 numbers for tg_broadcast_f32().
 */
#ifndef TG_ROWS_F32_H
#define TG_ROWS_F32_H

#include "tg_float.h"
#include "tg_operator_names.h"

/** first + second. */
void tg_add_row_f32(const struct tg_row_f32 *row);

/** The angle of the point (second, first), from -pi to pi. */
void tg_angle_row_f32(const struct tg_row_f32 *row);

/** first / second. */
void tg_divide_row_f32(const struct tg_row_f32 *row);

/** The larger one, or NaN. */
void tg_maximum_row_f32(const struct tg_row_f32 *row);

/** The smaller one, or NaN. */
void tg_minimum_row_f32(const struct tg_row_f32 *row);

/** first * second. */
void tg_multiply_row_f32(const struct tg_row_f32 *row);

/** first where it is positive, else first * second. */
void tg_prelu_row_f32(const struct tg_row_f32 *row);

/** first^second. */
void tg_raise_row_f32(const struct tg_row_f32 *row);

/** (first - second)^2. */
void tg_squared_difference_row_f32(const struct tg_row_f32 *row);

/** first - second. */
void tg_subtract_row_f32(const struct tg_row_f32 *row);

#endif
