/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One tile at a time: a quarter of the scratch of four, more loads.
 */
#include "tg_native_winograd_1x2_body.h"

TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_single_s8, 1, "4", tg_native_winograd_multiply_1)
