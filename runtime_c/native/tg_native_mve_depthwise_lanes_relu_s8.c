/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_lanes.h"

void tg_native_mve_depthwise_lanes_relu_s8(
    const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_lanes(layer, input, output, scratch, tg_native_mve_lanes_relu_s8);
}
