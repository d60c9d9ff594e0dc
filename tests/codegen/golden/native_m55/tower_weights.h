/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tower: made by tinygen VERSION from tower.tflite for mps3-an547 (cortex-m55, mve), solver builtin. Do not edit.
 */
#ifndef TOWER_WEIGHTS_H
#define TOWER_WEIGHTS_H

#include <stdint.h>

extern _Alignas(4) const int32_t tower_conv_2d_1_columns[28];
extern _Alignas(4) const int8_t tower_conv_2d_2_weights[144];
extern _Alignas(4) const int32_t tower_conv_2d_2_bias[4];
extern _Alignas(4) const int32_t tower_conv_2d_2_multiplier[4];
extern _Alignas(4) const int32_t tower_conv_2d_2_shift[4];

#endif
