/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters of any size on a plane: by stride, and how sums are requantized.
 */
#include "tg_native_planes_any_body.h"

/* file: tg_native_plane_any_s8.c */

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_s8, 1, TG_PLANE_OUTPUT, 0)

/* file: tg_native_plane_any_relu_s8.c */

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_relu_s8, 1, TG_PLANE_OUTPUT_RELU, 1)

/* file: tg_native_plane_any_stride2_s8.c */

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_stride2_s8, 2, TG_PLANE_OUTPUT, 0)

/* file: tg_native_plane_any_stride2_relu_s8.c */

TG_PLANE_ANY_FUNCTION(tg_native_plane_any_stride2_relu_s8, 2, TG_PLANE_OUTPUT_RELU, 1)
