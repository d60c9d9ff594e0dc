/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_planes_any_body.h"

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_stride2_s8, 2, TG_PLANE_OUTPUT, 0)
