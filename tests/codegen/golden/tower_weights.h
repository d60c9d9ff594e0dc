/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tower: made by tinygen VERSION from tower.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#ifndef TOWER_WEIGHTS_H
#define TOWER_WEIGHTS_H

#include <stdint.h>

extern _Alignas(4) const int8_t tower_conv_2d_1_weights[36];
extern _Alignas(4) const int32_t tower_conv_2d_1_bias[4];
extern _Alignas(4) const int32_t tower_conv_2d_1_multiplier[4];
extern _Alignas(4) const int32_t tower_conv_2d_1_shift[4];
extern _Alignas(4) const int8_t tower_conv_2d_2_weights[144];

#endif
