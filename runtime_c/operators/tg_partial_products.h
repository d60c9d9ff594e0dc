/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Layers whose input comes part by part, by features or by channels: one int32 sum per output, requantized once.
 */
#ifndef TG_PARTIAL_PRODUCTS_H
#define TG_PARTIAL_PRODUCTS_H

#include <stdint.h>

#include "tg_operator_names.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Some features of a layer. */
struct tg_products {
    const int8_t *weights; /**< [units][features] */
    int32_t units;
    int32_t features;
    int32_t count;        /**< features in this part */
    int32_t input_offset; /**< added to each of them */
};

/** Add the products of `count` features, of which `input` holds the first, number `first` of the layer, to the sums. */
void tg_add_products_s8(const struct tg_products *products, const int8_t *input, int32_t first, int32_t *sums);

/** Some channels of each input vector of a layer. */
struct tg_channel_products {
    const int8_t *weights; /**< [units][features] */
    int32_t units;
    int32_t features; /**< of a vector in this part */
    int32_t vectors;
};

/** Add the products of stored values, [vectors][features], to the sums, [vectors][units]. */
void tg_add_channel_products_s8(const struct tg_channel_products *products, const int8_t *input, int32_t *sums);

/** How sums become outputs. */
struct tg_scaling {
    const int32_t *bias; /**< NULL where there is none */
    const int32_t *multiplier;
    const int32_t *shift;
    int32_t zero_point;
    int32_t min;
    int32_t max;
};

/** Sums plus bias, times multiplier * 2^(shift - 31), plus the zero point, limited to [min, max]. Not in place. */
void tg_scale_products_s8(const struct tg_scaling *scaling, const int32_t *sums, int32_t units, int8_t *output);

#ifdef __cplusplus
}
#endif

#endif
