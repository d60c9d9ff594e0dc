/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_selu_f32(float x, const float *parameters)
{
    return parameters[1] * (x >= 0.0f ? x : parameters[0] * expm1f(x));
}
