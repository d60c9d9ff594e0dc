/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Comparisons of quantized numbers.
 */
/* file: tg_compare_scaled_s16.c */

#define COMPARE tg_compare_scaled_s16
#define VALUE int16_t
#include "tg_compare_scaled_body.h"

/* file: tg_compare_scaled_s8.c */

#define COMPARE tg_compare_scaled_s8
#define VALUE int8_t
#include "tg_compare_scaled_body.h"
