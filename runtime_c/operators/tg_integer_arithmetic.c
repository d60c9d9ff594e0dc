/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic on integers without scales.
 */
/* file: tg_integer_arithmetic_s32.c */

#define ARITHMETIC tg_integer_arithmetic_s32
#define VALUE int32_t
#define UNSIGNED uint32_t
#include "tg_integer_arithmetic_body.h"

/* file: tg_integer_arithmetic_s64.c */

#define ARITHMETIC tg_integer_arithmetic_s64
#define VALUE int64_t
#define UNSIGNED uint64_t
#include "tg_integer_arithmetic_body.h"
