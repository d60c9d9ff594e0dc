/*
 * SPDX-License-Identifier: LicenseRef-Model
 *
 * classifier: made by tinygen VERSION from classifier.tflite for mps3-an547 (cortex-m55, mve), solver builtin. Do
 * not edit.
 * These are numbers of classifier.tflite, under the licence of that model.
 */
#include "classifier_weights.h"

/*
 * For each 4 channels: 64 bytes of filters for each 16 elements; biases, multipliers, shifts. See
 * tg_native_mve_gemm.h.
 */
_Alignas(4) const int32_t classifier_conv_2d_1_rows[28] = {
    0, -2130706432, 368102310, -1434099910, 0, -822083584, 1665014260, -120344951, 0, 0, 0, 0, 0, 0, 0, 0,
    -2618, -982, 0, 0, 1374389504, 1374389504, 0, 0, -6, -5, 0, 0,
};

/*
 * For each 8 units, 0 2 4 6 1 3 5 7: 128 bytes of weights for each 16 features; biases, multipliers, shifts. See
 * tg_native_mve.h.
 */
_Alignas(4) const int32_t classifier_fully_connected_2_vector[56] = {
    0, 0, -255089023, -2057356779, 0, 0, 1109260499, -676164249, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 435474346,
    -1366727874, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -30130, -11242, 0, 0, -20686, 0, 0, 0, 2061584256,
    2061584256, 0, 0, 2061584256, 0, 0, 0, -6, -6, 0, 0, -6, 0, 0, 0,
};
