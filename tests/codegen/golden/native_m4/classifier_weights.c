/*
 * SPDX-License-Identifier: LicenseRef-Model
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do
 * not edit.
 * These are numbers of classifier.tflite, under the licence of that model.
 */
#include "classifier_weights.h"

/*
 * For each pair of channels: two biases; filters, two words for each 4 elements; multiplier, offset and, where
 * it is not the same for all, shift of each. See tg_native_gemm.h.
 */
_Alignas(4) const int32_t classifier_conv_2d_1_stream[12] = {
    -2617, -981, 432787329, 62630, -1992671504, 25365, -123031969, 54149, 171798680, -510, 343597368, -510,
};

_Alignas(4) const int8_t classifier_fully_connected_2_weights[24] = {
    -127, -90, -53, -16, 21, 58, 95, -123, -86, -49, -12, 25, 62, 99, -119, -82, -45, -8, 29, 66, 103, -115,
    -78, -41,
};

_Alignas(4) const int32_t classifier_fully_connected_2_bias[3] = {
    -50, 50, 150,
};
