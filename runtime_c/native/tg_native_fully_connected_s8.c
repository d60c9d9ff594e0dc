/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemv.h"

void tg_native_fully_connected_s8(
    const struct tg_native_fully_connected *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_rows(layer, input, output, scratch, tg_native_gemv_s8);
}
