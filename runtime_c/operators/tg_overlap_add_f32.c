/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_overlap_add_f32
#define TG_NUMBER float
#define TG_SUM(first, second) ((first) + (second))
#include "tg_overlap_add_body.h"
