/*
 * SPDX-License-Identifier: LicenseRef-Model
 *
 * tower: made by tinygen VERSION from tower.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 * These are numbers of tower.tflite, under the licence of that model.
 */
#include "tower_weights.h"

/*
 * For each 8 channels: biases; 8 words of weights for each 4 elements of a filter; multiplier, offset, shift of
 * each. See tg_native_runs.h.
 */
_Alignas(4) const int32_t tower_conv_2d_1_vector[56] = {
    -2618, -254010, 654, 64654, 0, 0, 0, 0, 416009857, 1039201190, -1234736355, -628256446, 0, 0, 0, 0,
    -1369480427, -763000518, 1241317298, 1864443095, 0, 0, 0, 0, 63402, 0, 38214, 0, 0, 0, 0, 0, 1374389504,
    -8160, 6, 1374389504, -8160, 6, 1374389504, -8160, 6, 1374389504, -8160, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
};

_Alignas(4) const int8_t tower_conv_2d_2_weights[144] = {
    -127, -90, -53, -16, 21, 58, 95, -123, -86, -49, -12, 25, 62, 99, -119, -82, -45, -8, 29, 66, 103, -115,
    -78, -41, -4, 33, 70, 107, -111, -74, -37, 0, 37, 74, 111, -107, -70, -33, 4, 41, 78, 115, -103, -66, -29,
    8, 45, 82, 119, -99, -62, -25, 12, 49, 86, 123, -95, -58, -21, 16, 53, 90, 127, -91, -54, -17, 20, 57, 94,
    -124, -87, -50, -13, 24, 61, 98, -120, -83, -46, -9, 28, 65, 102, -116, -79, -42, -5, 32, 69, 106, -112,
    -75, -38, -1, 36, 73, 110, -108, -71, -34, 3, 40, 77, 114, -104, -67, -30, 7, 44, 81, 118, -100, -63, -26,
    11, 48, 85, 122, -96, -59, -22, 15, 52, 89, 126, -92, -55, -18, 19, 56, 93, -125, -88, -51, -14, 23, 60,
    97, -121, -84, -47, -10, 27, 64,
};

_Alignas(4) const int32_t tower_conv_2d_2_bias[4] = {
    -50, 50, 150, 250,
};

_Alignas(4) const int32_t tower_conv_2d_2_multiplier[4] = {
    1374389504, 1374389504, 1374389504, 1374389504,
};

_Alignas(4) const int32_t tower_conv_2d_2_shift[4] = {
    -6, -6, -6, -6,
};
