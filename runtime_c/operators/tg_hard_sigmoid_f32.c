/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_hard_sigmoid_f32(float x, const float *parameters)
{
    return fminf(fmaxf(parameters[0] * x + parameters[1], 0.0f), 1.0f);
}
