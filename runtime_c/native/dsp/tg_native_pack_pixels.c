/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_blocks.h"
#include "tg_native_columns.h"

static inline uint32_t *pack_four(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *to)
{
    to[0] = tg_even_bytes(a);
    to[4] = tg_odd_bytes(a);
    to[1] = tg_even_bytes(b);
    to[5] = tg_odd_bytes(b);
    to[2] = tg_even_bytes(c);
    to[6] = tg_odd_bytes(c);
    to[3] = tg_even_bytes(d);
    to[7] = tg_odd_bytes(d);
    return to + 8;
}

/* The same from four bytes of each pixel. */
static inline uint32_t *pack_four_of(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d, uint32_t *to)
{
#if TG_NATIVE_RV32
    (void)tg_pack_four(a, to);
    (void)tg_pack_four(b, to + 1);
    (void)tg_pack_four(c, to + 2);
    return tg_pack_four(d, to + 3) - 3;
#else
    return pack_four(tg_word(a), tg_word(b), tg_word(c), tg_word(d), to);
#endif
}

void tg_native_pack_pixels(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t depth = layer->depth;
    const int32_t pixels = layer->input_height * layer->input_width - first;
    const int8_t *const a = input + first * depth;
    const int8_t *const b = pixels > 1 ? a + depth : a; /* of less than 4 pixels the last ones are not used */
    const int8_t *const c = pixels > 2 ? b + depth : a;
    const int8_t *const d = pixels > 3 ? c + depth : a;
    const int32_t rest = depth % 4;
    int32_t i = 0;

    for (; i < depth - 7; i += 8) {
        columns = pack_four_of(a + i, b + i, c + i, d + i, columns);
        columns = pack_four_of(a + i + 4, b + i + 4, c + i + 4, d + i + 4, columns);
    }
    if (i < depth - 3) {
        columns = pack_four_of(a + i, b + i, c + i, d + i, columns);
        i += 4;
    }
    if (rest != 0) {
        (void)pack_four(tg_partial_word(a + i, rest), tg_partial_word(b + i, rest), tg_partial_word(c + i, rest),
            tg_partial_word(d + i, rest), columns);
    }
}
