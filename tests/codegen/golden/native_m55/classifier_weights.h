/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps3-an547 (cortex-m55, mve), solver builtin. Do
 * not edit.
 */
#ifndef CLASSIFIER_WEIGHTS_H
#define CLASSIFIER_WEIGHTS_H

#include <stdint.h>

extern _Alignas(4) const int32_t classifier_conv_2d_1_rows[28];
extern _Alignas(4) const int32_t classifier_fully_connected_2_vector[56];

#endif
