/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_asinh_f32(float x, const float *parameters)
{
    (void)parameters;
    return asinhf(x);
}
