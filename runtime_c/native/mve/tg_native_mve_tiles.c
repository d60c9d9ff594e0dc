/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 3x3 filters on planes, and those of one line: by how sums are requantized.
 */

/* file: tg_native_mve_tiles_s8.c */

#define TG_MVE_TILES_NAME tg_native_mve_tiles_s8
#define TG_MVE_TILES_IS_LINE 0
#define TG_MVE_TILES_IS_RELU 0

#include "tg_native_mve_tiles_body.h"

/* file: tg_native_mve_tiles_relu_s8.c */

#define TG_MVE_TILES_NAME tg_native_mve_tiles_relu_s8
#define TG_MVE_TILES_IS_LINE 0
#define TG_MVE_TILES_IS_RELU 1

#include "tg_native_mve_tiles_body.h"

/* file: tg_native_mve_shifts_s8.c */

#define TG_MVE_TILES_NAME tg_native_mve_shifts_s8
#define TG_MVE_TILES_IS_LINE 1
#define TG_MVE_TILES_IS_RELU 0

#include "tg_native_mve_tiles_body.h"

/* file: tg_native_mve_shifts_relu_s8.c */

#define TG_MVE_TILES_NAME tg_native_mve_shifts_relu_s8
#define TG_MVE_TILES_IS_LINE 1
#define TG_MVE_TILES_IS_RELU 1

#include "tg_native_mve_tiles_body.h"
