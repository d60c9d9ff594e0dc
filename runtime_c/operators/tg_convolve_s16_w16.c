/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_convolve_s16_w16
#define TG_WEIGHT int16_t
#include "tg_convolve_s16_body.h"
