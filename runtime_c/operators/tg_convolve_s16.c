/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_convolve_s16
#define TG_WEIGHT int8_t
#include "tg_convolve_s16_body.h"
