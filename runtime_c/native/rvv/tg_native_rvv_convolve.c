/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions: which product they are of, and whether pixels are multiplied where they lie.
 */
#include "tg_native_rvv_products.h"

/* file: tg_native_rvv_convolve_s8.c */

void tg_native_rvv_convolve_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const int32_t elements = layer->kernel_height * layer->kernel_width * layer->depth;

    tg_native_rvv_windows(layer, input, output, scratch, elements, tg_native_rvv_dense_4, tg_native_rvv_dense_1);
}

/* file: tg_native_rvv_depthwise_s8.c */

void tg_native_rvv_depthwise_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const int32_t elements = layer->kernel_height * layer->kernel_width;

    tg_native_rvv_windows(layer, input, output, scratch, elements, tg_native_rvv_planes_4, tg_native_rvv_planes_1);
}

/* file: tg_native_rvv_convolve_1x1_s8.c */

void tg_native_rvv_convolve_1x1_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const struct tg_rvv_filters filters = tg_rvv_filters_of(layer, layer->depth);
    const int32_t pixels = layer->batches * layer->output_height * layer->output_width;

    (void)scratch;
    if (pixels < 4) {
        for (int32_t pixel = 0; pixel < pixels; pixel++) {
            tg_native_rvv_dense_1(
                &filters, input + pixel * layer->depth, layer->depth, output + pixel * layer->channels);
        }
        return;
    }
    for (int32_t next = 0; next < pixels; next += 4) {
        const int32_t first = next > pixels - 4 ? pixels - 4 : next;
        tg_native_rvv_dense_4(&filters, input + first * layer->depth, layer->depth, output + first * layer->channels);
    }
}
