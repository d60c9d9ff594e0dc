/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weights by tables of numbers, and weights of which only those that are not 0 are stored.
 */
#ifndef TG_LISTED_H
#define TG_LISTED_H

#include "tg_coded.h"

/**
 * Which weights are stored, and which tables they have. Codes, of 1 to 8 bits, of all stored weights follow each other,
 * packed without gaps from the lowest bit of the first byte on.
 */
struct tg_list {
    int32_t next_table;       /**< numbers from one table to the next; 0 where there is one, or none */
    int32_t filters_of_table; /**< filters that share a table */
    const uint8_t *mask;      /**< for each weight a bit, set where it is stored; NULL: all are */
};

/** Weights of float32: numbers of codes, of which `levels` may be several tables, or `stored` as they are. */
struct tg_listed {
    struct tg_list list;
    struct tg_codes codes;
    const float *stored; /**< weights that have no codes, or NULL */
};

/** tg_convolve_f32() with such weights; scratch: one filter, kernel height * kernel width * depth floats. */
void tg_convolve_listed_f32(const struct tg_window *window, const struct tg_listed *weights, const float *bias,
    const float *input, float *output, float *scratch);

/** One vector of `features` times weights [units, features], of which only stored ones are multiplied. */
void tg_fully_connected_listed_f32(int32_t features, int32_t units, const struct tg_listed *weights, const float *bias,
    const struct tg_bounds_f32 *bounds, const float *input, float *output);

#endif
