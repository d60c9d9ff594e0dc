/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_planes_any_body.h"

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_s8, 1, TG_PLANE_OUTPUT, 0)
