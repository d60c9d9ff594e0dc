/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_line_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_shifts_relu_s8);
}
