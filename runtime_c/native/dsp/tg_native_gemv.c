/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of one vector: by how weights are multiplied.
 */
#include "tg_native_gemv_body.h"

/* file: tg_native_gemv_s8.c */

TG_GEMV_FUNCTION(tg_native_gemv_s8)

/* file: tg_native_gemv_joined_s8.c */

TG_GEMV_JOINED_FUNCTION(tg_native_gemv_joined_s8)
