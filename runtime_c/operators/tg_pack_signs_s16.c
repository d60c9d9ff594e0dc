/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_pack_signs_s16
#define TG_VALUE int16_t
#include "tg_pack_signs_body.h"
