/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_thresholded_relu_f32(float x, const float *parameters)
{
    return x > parameters[0] ? x : 0.0f;
}
