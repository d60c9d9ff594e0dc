/*
 * classifier: made by tinygen VERSION from classifier.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do
 * not edit.
 */
#ifndef CLASSIFIER_WEIGHTS_H
#define CLASSIFIER_WEIGHTS_H

#include <stdint.h>

extern const int8_t classifier_conv_2d_0_weights[18];
extern const int32_t classifier_conv_2d_0_bias[2];
extern const int32_t classifier_conv_2d_0_multiplier[2];
extern const int32_t classifier_conv_2d_0_shift[2];
extern const int8_t classifier_fully_connected_1_weights[24];
extern const int32_t classifier_fully_connected_1_bias[3];

#endif
