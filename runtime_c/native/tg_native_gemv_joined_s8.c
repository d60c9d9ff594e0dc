/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemv_body.h"

TG_GEMV_JOINED_FUNCTION(tg_native_gemv_joined_s8)
