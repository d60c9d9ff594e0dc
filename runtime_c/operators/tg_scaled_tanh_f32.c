/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_scaled_tanh_f32(float x, const float *parameters)
{
    return parameters[0] * tanhf(parameters[1] * x);
}
