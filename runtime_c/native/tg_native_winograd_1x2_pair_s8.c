/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two tiles at a time: half the scratch of four, more loads.
 */
#include "tg_native_winograd_1x2_body.h"

TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_pair_s8, 2, "8", tg_native_winograd_multiply_2)
