/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_gelu_f32(float x, const float *parameters)
{
    (void)parameters;
    return 0.5f * x * erfcf(x * -0.70710678f);
}
