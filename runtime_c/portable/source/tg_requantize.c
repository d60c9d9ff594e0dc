/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "requantize.h"

int32_t tg_requantize(int32_t value, int32_t multiplier, int32_t shift)
{
    return requantize_inline(value, multiplier, shift);
}
