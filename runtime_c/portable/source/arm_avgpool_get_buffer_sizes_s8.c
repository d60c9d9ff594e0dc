/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Average pooling needs no scratch.
 */
#include "arm_nnfunctions.h"

int32_t arm_avgpool_s8_get_buffer_size(const int dim_dst_width, const int ch_src)
{
    (void)dim_dst_width;
    (void)ch_src;
    return 0;
}

int32_t arm_avgpool_s8_get_buffer_size_dsp(const int dim_dst_width, const int ch_src)
{
    (void)dim_dst_width;
    (void)ch_src;
    return 0;
}

int32_t arm_avgpool_s8_get_buffer_size_mve(const int dim_dst_width, const int ch_src)
{
    (void)dim_dst_width;
    (void)ch_src;
    return 0;
}
