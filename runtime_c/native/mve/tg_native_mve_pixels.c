/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_windows.h"
#include "tg_native_mve_clamp.h"

void tg_native_mve_pixels(const struct tg_native_mve_convolve *layer, const int8_t *pixels, int32_t step,
    int32_t elements, int32_t count, int8_t *output, tg_native_mve_gemm *multiply)
{
    struct tg_native_mve_gemm gemm = {
        .pixels = pixels,
        .output = output,
        .stream = layer->stream,
        .pairs = count / 2,
        .pixel_step = step,
        .output_step = layer->channels,
        .elements = elements,
        .channels = layer->channels,
        .zero_point = layer->output_zero_point,
    };

    if (count > 1) {
        multiply(&gemm);
    }
    if (count % 2 != 0) { /* the last pixel together with itself */
        gemm.pixels = pixels + (count - 1) * step;
        gemm.output = output + (count - 1) * layer->channels;
        gemm.pairs = 1;
        gemm.pixel_step = 0;
        gemm.output_step = 0;
        multiply(&gemm);
    }
    tg_mve_clamp(output, count * layer->channels, layer->min, layer->max);
}
