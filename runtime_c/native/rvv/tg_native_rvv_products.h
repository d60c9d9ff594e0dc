/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters over 4 pixels or one, all channels of which are computed and requantized.
 */
#ifndef TG_NATIVE_RVV_PRODUCTS_H
#define TG_NATIVE_RVV_PRODUCTS_H

#include "tg_native_rvv.h"

/** What is the same for all pixels. Assembly knows the offsets. */
struct tg_rvv_filters {
    const int8_t *weights; /**< [element][channel] */
    const int32_t *scales; /**< biases, multipliers, offsets, right shifts, each of all channels */
    int32_t channels;
    int32_t elements; /**< of a filter */
    int32_t min;
    int32_t max;
};

/** `windows`: what the filters see of each pixel, `step` bytes from one to the next; `output`: of the first one. */
typedef void tg_native_rvv_products(
    const struct tg_rvv_filters *filters, const int8_t *windows, int32_t step, int8_t *output);

/** Each channel's filter over all elements of 4 pixels, or of one. */
tg_native_rvv_products tg_native_rvv_dense_4;
tg_native_rvv_products tg_native_rvv_dense_1;

/** Each channel's filter over elements of that channel: windows are [element][channel] as weights are. */
tg_native_rvv_products tg_native_rvv_planes_4;
tg_native_rvv_products tg_native_rvv_planes_1;

/** Copies `rows` rows of `count` bytes, at least one; steps are bytes between rows. */
void tg_native_rvv_copy(
    int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t rows, int32_t count);

/** Sets `count` bytes, at least one. */
void tg_native_rvv_fill(int8_t *to, int32_t value, int32_t count);

/** All pixels of a layer whose filters have so many elements: windows are copied to scratch. */
void tg_native_rvv_windows(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, int8_t *scratch,
    int32_t elements, tg_native_rvv_products *of_4, tg_native_rvv_products *of_1);

/** The filters of a layer's stream. */
static inline struct tg_rvv_filters tg_rvv_filters_of(const struct tg_native_convolve *layer, int32_t elements)
{
    const struct tg_rvv_filters filters = {
        .weights = (const int8_t *)(layer->stream + 4 * layer->channels),
        .scales = layer->stream,
        .channels = layer->channels,
        .elements = elements,
        .min = layer->min,
        .max = layer->max,
    };

    return filters;
}

#endif
