/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tower: made by tinygen VERSION from tower.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#ifndef TOWER_WEIGHTS_H
#define TOWER_WEIGHTS_H

#include <stdint.h>

extern _Alignas(4) const int32_t tower_conv_2d_1_vector[56];
extern _Alignas(4) const int8_t tower_conv_2d_2_weights[144];
extern _Alignas(4) const int32_t tower_conv_2d_2_bias[4];
extern _Alignas(4) const int32_t tower_conv_2d_2_multiplier[4];
extern _Alignas(4) const int32_t tower_conv_2d_2_shift[4];

#endif
