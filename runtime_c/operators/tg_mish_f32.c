/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_mish_f32(float x, const float *parameters)
{
    (void)parameters;
    return x * tanhf(fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))));
}
