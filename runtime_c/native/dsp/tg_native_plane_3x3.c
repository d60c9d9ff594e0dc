/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 3x3 filters on a plane: by stride, and how sums are requantized.
 */
#include "tg_native_planes_body.h"

/* file: tg_native_plane_3x3_s8.c */

TG_PLANE_FUNCTION(tg_native_plane_3x3_s8, 1, TG_PLANE_OUTPUT, 0)

/* file: tg_native_plane_3x3_relu_s8.c */

TG_PLANE_FUNCTION(tg_native_plane_3x3_relu_s8, 1, TG_PLANE_OUTPUT_RELU, 1)

/* file: tg_native_plane_3x3_stride2_s8.c */

TG_PLANE_FUNCTION(tg_native_plane_3x3_stride2_s8, 2, TG_PLANE_OUTPUT, 0)

/* file: tg_native_plane_3x3_stride2_relu_s8.c */

TG_PLANE_FUNCTION(tg_native_plane_3x3_stride2_relu_s8, 2, TG_PLANE_OUTPUT_RELU, 1)
