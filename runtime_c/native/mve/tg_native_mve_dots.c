/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters of any size on planes: by how sums are requantized.
 */

/* file: tg_native_mve_dots_s8.c */

#define TG_MVE_DOTS_NAME tg_native_mve_dots_s8
#define TG_MVE_DOTS_IS_RELU 0

#include "tg_native_mve_dots_body.h"

/* file: tg_native_mve_dots_relu_s8.c */

#define TG_MVE_DOTS_NAME tg_native_mve_dots_relu_s8
#define TG_MVE_DOTS_IS_RELU 1

#include "tg_native_mve_dots_body.h"
