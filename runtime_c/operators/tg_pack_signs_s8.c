/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_pack_signs_s8
#define TG_VALUE int8_t
#include "tg_pack_signs_body.h"
