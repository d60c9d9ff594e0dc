/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd_1x2_body.h"

TG_WINOGRAD_1X2_FUNCTION(tg_native_winograd_1x2_s8, 4, "16", tg_native_winograd_multiply_4)
