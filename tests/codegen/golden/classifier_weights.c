/*
 * SPDX-License-Identifier: LicenseRef-Model
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do
 * not edit.
 * These are numbers of classifier.tflite, under the licence of that model.
 */
#include "classifier_weights.h"

_Alignas(4) const int8_t classifier_conv_2d_1_weights[18] = {
    -127, -90, -53, -16, 21, 58, 95, -123, -86, -49, -12, 25, 62, 99, -119, -82, -45, -8,
};

_Alignas(4) const int32_t classifier_conv_2d_1_bias[2] = {
    -50, 50,
};

_Alignas(4) const int32_t classifier_conv_2d_1_multiplier[2] = {
    1374389504, 1374389504,
};

_Alignas(4) const int32_t classifier_conv_2d_1_shift[2] = {
    -6, -5,
};

_Alignas(4) const int8_t classifier_fully_connected_2_weights[24] = {
    -127, -90, -53, -16, 21, 58, 95, -123, -86, -49, -12, 25, 62, 99, -119, -82, -45, -8, 29, 66, 103, -115,
    -78, -41,
};

_Alignas(4) const int32_t classifier_fully_connected_2_bias[3] = {
    -50, 50, 150,
};
