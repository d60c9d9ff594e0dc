/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_arithmetic.h"
#include "tg_native_mve_planes.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0 - r3  pixels, r4 - r7 their steps      r8, r9, r10  words of padding, pixels and padding   r11  channels left
 * q0 - q3  8 channels of the 4 pixels       q4           padding
 * q5, q6   the last words of even and odd channels       q7           the first ones of even channels
 */
TG_MVE_NAKED void tg_native_mve_pack_words(struct tg_native_mve_pack *pack __attribute__((unused)))
{
    __asm volatile(
        "push   {r4-r11, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "mov    r12, r0                              \n"
        "ldrd   r1, r2, [r12, #48]                   \n" /* plane, plane_bytes */
        "mov    r4, #0                               \n"
        "vidup.u32 q7, r4, #2                        \n"
        "sub    r1, #4                               \n"
        "vmul.i32 q7, q7, r2                         \n"
        "ldrd   r8, r9, [r12, #56]                   \n"
        "vadd.i32 q7, q7, r1                         \n" /* one word before the planes of channels 0 2 4 6 */
        "ldrd   r10, r11, [r12, #64]                 \n"
        "ldr    r1, [r12, #72]                       \n" /* zero_point */
        "vdup.8 q4, r1                               \n"
        "7:                                          \n" /* 8 channels */
        "vctp.16 r11                                 \n"
        "ldr    r2, [r12, #52]                       \n"
        "vmov   q5, q7                               \n"
        "vadd.i32 q6, q7, r2                         \n"
        "lsl    r2, #3                               \n"
        "vadd.i32 q7, q7, r2                         \n"
        "ldm    r12, {r0-r7}                         \n"
        "wls    lr, r8, 2f                           \n"
        "1:                                          \n"
        "vstrw.32 q4, [q5, #4]!                      \n"
        "vstrw.32 q4, [q6, #4]!                      \n"
        "le     lr, 1b                               \n"
        "2:                                          \n"
        "wls    lr, r9, 4f                           \n"
        "3:                                          \n"
        "vpstttt                                     \n"
        "vldrbt.u16 q0, [r0]                         \n"
        "vldrbt.u16 q1, [r1]                         \n"
        "vslit.16 q0, q1, #8                         \n" /* pixels 0 and 1 of each channel */
        "vldrbt.u16 q2, [r2]                         \n"
        "vpst                                        \n"
        "vldrbt.u16 q3, [r3]                         \n"
        "vsli.16 q2, q3, #8                          \n" /* pixels 2 and 3 */
        "vmov   q1, q0                               \n"
        "vsli.32 q1, q2, #16                         \n"
        "vstrw.32 q1, [q5, #4]!                      \n"
        "vsri.32 q2, q0, #16                         \n"
        "vstrw.32 q2, [q6, #4]!                      \n"
        "add    r0, r4                               \n"
        "add    r1, r5                               \n"
        "add    r2, r6                               \n"
        "add    r3, r7                               \n"
        "le     lr, 3b                               \n"
        "4:                                          \n"
        "wls    lr, r10, 6f                          \n"
        "5:                                          \n"
        "vstrw.32 q4, [q5, #4]!                      \n"
        "vstrw.32 q4, [q6, #4]!                      \n"
        "le     lr, 5b                               \n"
        "6:                                          \n"
        "subs   r11, #8                              \n"
        "ble    8f                                   \n"
        "ldm    r12, {r0-r3}                         \n"
        "ldrd   r4, r5, [r12, #32]                   \n"
        "ldrd   r6, r7, [r12, #40]                   \n"
        "add    r0, r4                               \n"
        "add    r1, r5                               \n"
        "add    r2, r6                               \n"
        "add    r3, r7                               \n"
        "stm    r12, {r0-r3}                         \n"
        "b      7b                                   \n"
        "8:                                          \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r11, pc}                         \n"
    );
}

/* clang-format on */

#else

static int8_t *padding(int8_t *to, int32_t words, int32_t zero_point)
{
    for (int32_t i = 0; i < 4 * words; i++) {
        *to++ = (int8_t)zero_point;
    }
    return to;
}

void tg_native_mve_pack_words(struct tg_native_mve_pack *pack)
{
    for (int32_t channel = 0; channel < pack->channels; channel++) {
        int8_t *to = padding(pack->plane + channel * pack->plane_bytes, pack->before, pack->zero_point);
        for (int32_t i = 0; i < 4 * pack->words; i++) {
            const int32_t group = channel / 8 * pack->group_steps[i % 4];
            *to++ = pack->pixels[i % 4][group + i / 4 * pack->steps[i % 4] + channel % 8];
        }
        (void)padding(to, pack->behind, pack->zero_point);
    }
}

#endif
