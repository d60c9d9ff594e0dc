/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_movement.h"

enum {
    WORD = 4,
    BLOCK = 4 * WORD,
};

void tg_move_up(void *target, const void *source, int32_t bytes)
{
    uint8_t *to = (uint8_t *)target + bytes;
    const uint8_t *from = (const uint8_t *)source + bytes;

    /* A block is read before it is written: what it is written over belongs to itself or to blocks that are done. */
    for (; bytes >= BLOCK; bytes -= BLOCK) {
        uint32_t first, second, third, fourth;
        from -= BLOCK;
        to -= BLOCK;
        memcpy(&first, from, WORD);
        memcpy(&second, from + WORD, WORD);
        memcpy(&third, from + 2 * WORD, WORD);
        memcpy(&fourth, from + 3 * WORD, WORD);
        memcpy(to, &first, WORD);
        memcpy(to + WORD, &second, WORD);
        memcpy(to + 2 * WORD, &third, WORD);
        memcpy(to + 3 * WORD, &fourth, WORD);
    }
    for (; bytes > 0; bytes--) {
        *--to = *--from;
    }
}
