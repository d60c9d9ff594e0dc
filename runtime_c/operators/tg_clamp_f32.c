/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_clamp_f32(float x, const float *parameters)
{
    return x < parameters[0] ? parameters[0] : (x > parameters[1] ? parameters[1] : x);
}
