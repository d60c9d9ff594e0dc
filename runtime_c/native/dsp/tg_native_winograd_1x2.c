/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Winograd's method in tiles of 1x2 outputs: by how many tiles scratch has room for.
 */
#include "tg_native_winograd_1x2_body.h"

/* file: tg_native_winograd_1x2_s8.c */

TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_s8, 4, "16", tg_native_winograd_multiply_4)

/* file: tg_native_winograd_1x2_pair_s8.c */

/* Two tiles at a time: half the scratch of four, more loads. */
TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_pair_s8, 2, "8", tg_native_winograd_multiply_2)

/* file: tg_native_winograd_1x2_single_s8.c */

/* One tile at a time: a quarter of the scratch of four, more loads. */
TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_single_s8, 1, "4", tg_native_winograd_multiply_1)
