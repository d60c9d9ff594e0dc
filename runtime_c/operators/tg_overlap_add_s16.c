/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_overlap_add_s16
#define TG_NUMBER int16_t
#define TG_SUM(first, second) tg_clamp_s16((first) + (second), INT16_MIN, INT16_MAX)
#include "tg_overlap_add_body.h"
