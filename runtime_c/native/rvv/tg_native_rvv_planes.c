/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 16-bit weights of some channels times elements of the same channels.
 */
#include "tg_native_rvv_assembly.h"

#if TG_NATIVE_RVV

/* assembly in columns */
/* clang-format off */

/* s11 bytes of all weights, a2 where those of some channels end. */
#define LOOP(step)                                                                                                     \
    "add    a2, s0, s11              \n"                                                                               \
    "2:                              \n"                                                                               \
    step                                                                                                               \
    "bne    t2, a2, 2b               \n"

#define PIXEL(sum, window)                                                                                             \
    "vle8.v v1, (" window ")         \n"                                                                               \
    "add    " window ", " window ", s2\n"                                                                              \
    "vsext.vf2 v4, v1                \n"                                                                               \
    "vwmacc.vv " sum ", v2, v4       \n"

#define STEP_4                                                                                                         \
    "vle8.v v0, (t2)                 \n"                                                                               \
    "add    t2, t2, s2               \n"                                                                               \
    "vsext.vf2 v2, v0                \n"                                                                               \
    PIXEL("v8", "t3") PIXEL("v12", "t4") PIXEL("v16", "t5") PIXEL("v20", "t6")

#define STEP_1                                                                                                         \
    "vle8.v v0, (t2)                 \n"                                                                               \
    "add    t2, t2, s2               \n"                                                                               \
    "vsext.vf2 v4, v0                \n"                                                                               \
    "vle8.v v16, (t3)                \n"                                                                               \
    "add    t3, t3, s2               \n"                                                                               \
    "vsext.vf2 v20, v16              \n"                                                                               \
    "vwmacc.vv v8, v4, v20           \n"

TG_NAKED void tg_native_rvv_planes_4(TG_RVV_ARGUMENTS)
{
    __asm__ volatile(TG_RVV_ENTER TG_RVV_WINDOWS_4
    "mul    s11, s2, s3              \n" TG_RVV_FIRST_4 LOOP(STEP_4) TG_RVV_LAST_4
    "add    a1, a1, t0               \n"
    "add    a4, a4, t0               \n"
    "add    a5, a5, t0               \n"
    "add    a6, a6, t0               \n" TG_RVV_NEXT);
}

TG_NAKED void tg_native_rvv_planes_1(TG_RVV_ARGUMENTS)
{
    __asm__ volatile(TG_RVV_ENTER
    "mul    s11, s2, s3              \n" TG_RVV_FIRST_1 LOOP(STEP_1) TG_RVV_LAST_1
    "add    a1, a1, t0               \n" TG_RVV_NEXT);
}

/* clang-format on */

#else

void tg_native_rvv_planes_1(TG_RVV_ARGUMENTS)
{
    const int32_t channels = filters->channels;

    (void)step;
    for (int32_t channel = 0; channel < channels; channel++) {
        uint32_t sum = (uint32_t)filters->scales[channel];
        for (int32_t at = channel; at < channels * filters->elements; at += channels) {
            sum += (uint32_t)(windows[at] * filters->weights[at]);
        }
        output[channel] = tg_rvv_output(filters, (int32_t)sum, filters->scales + channel);
    }
}

void tg_native_rvv_planes_4(TG_RVV_ARGUMENTS)
{
    int8_t *to = output;

    for (const int8_t *window = windows; window < windows + 4 * step; window += step, to += filters->channels) {
        tg_native_rvv_planes_1(filters, window, step, to);
    }
}

#endif
