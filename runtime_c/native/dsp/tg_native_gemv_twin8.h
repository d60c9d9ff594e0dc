/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product of one vector with groups of 8 units, two of them at once, for cores with few registers.
 *
 * `stream` is that of the function named `twin` in tg_native_gemv.h. `vector` holds for each 8 elements, of which x, x'
 * stand for two, a word 0x8000 - 128 * 65537 times their sum, then four times x and x' - 256 x.
 */
#ifndef TG_NATIVE_GEMV_TWIN8_H
#define TG_NATIVE_GEMV_TWIN8_H

#include "tg_native_gemv.h"

#define TG_TWIN8_VECTOR_WORDS 9 /* for 8 elements */

tg_native_gemv tg_native_gemv_twin8_s8;

#endif
