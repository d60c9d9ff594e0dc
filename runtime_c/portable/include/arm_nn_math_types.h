/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The limits that programs written for CMSIS-NN take from this header.
 *
 * The API (names, arguments, meaning) is Arm's CMSIS-NN (github.com/ARM-software/CMSIS-NN, Apache-2.0); the
 * implementation is tinygen's, from the arithmetic.
 */
#ifndef ARM_NN_MATH_TYPES_H
#define ARM_NN_MATH_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define NN_Q31_MAX INT32_MAX
#define NN_Q31_MIN INT32_MIN
#define NN_Q15_MAX INT16_MAX
#define NN_Q15_MIN INT16_MIN
#define NN_Q7_MAX INT8_MAX
#define NN_Q7_MIN INT8_MIN

#endif
