/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_functions_f32.h"

float tg_sign_f32(float x, const float *parameters)
{
    (void)parameters;
    return (float)((x > 0.0f) - (x < 0.0f));
}
