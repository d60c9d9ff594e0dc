/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do
 * not edit.
 */
#ifndef CLASSIFIER_WEIGHTS_H
#define CLASSIFIER_WEIGHTS_H

#include <stdint.h>

extern _Alignas(4) const int32_t classifier_conv_2d_1_stream[12];
extern _Alignas(4) const int8_t classifier_fully_connected_2_weights[24];
extern _Alignas(4) const int32_t classifier_fully_connected_2_bias[3];

#endif
