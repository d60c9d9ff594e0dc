/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of numbers without scales.
 */
/* file: tg_compare_f32.c */

#define COMPARE tg_compare_f32
#define VALUE float
#include "tg_compare_body.h"

/* file: tg_compare_s16.c */

#define COMPARE tg_compare_s16
#define VALUE int16_t
#include "tg_compare_body.h"

/* file: tg_compare_s32.c */

#define COMPARE tg_compare_s32
#define VALUE int32_t
#include "tg_compare_body.h"

/* file: tg_compare_s64.c */

#define COMPARE tg_compare_s64
#define VALUE int64_t
#include "tg_compare_body.h"

/* file: tg_compare_s8.c */

#define COMPARE tg_compare_s8
#define VALUE int8_t
#include "tg_compare_body.h"

/* file: tg_compare_u8.c */

#define COMPARE tg_compare_u8
#define VALUE uint8_t
#include "tg_compare_body.h"
