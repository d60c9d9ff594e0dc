/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tg_movement.h"

#define HELD_BYTES 64 /* that are on their way at a time: what is found about a cycle serves all of them */

/* The same piece of an element of several matrices, or of several elements. */
struct pieces {
    uint8_t *first;
    int32_t step; /* bytes from one piece to the next */
};

/* Single bytes are what elements mostly are: no call for each of them. */
static void move_pieces(struct pieces to, struct pieces from, int32_t count, int32_t bytes)
{
    if (bytes == 1) {
        while (count-- > 0) {
            *to.first = *from.first;
            to.first += to.step;
            from.first += from.step;
        }
        return;
    }
    while (count-- > 0) {
        memcpy(to.first, from.first, (size_t)bytes);
        to.first += to.step;
        from.first += from.step;
    }
}

/* Which element of a matrix comes to a position of the transposed one. */
static inline int32_t source_of(const struct tg_matrices *matrices, int32_t position)
{
    const uint32_t rows = (uint32_t)matrices->rows;
    const uint32_t column = (uint32_t)position / rows;

    return (int32_t)(((uint32_t)position - column * rows) * (uint32_t)matrices->columns + column);
}

/* Whether a position is the first one of a cycle of several. */
static bool begins_cycle(const struct tg_matrices *matrices, int32_t position)
{
    int32_t other = source_of(matrices, position);

    if (other == position) {
        return false;
    }
    while (other > position) {
        other = source_of(matrices, other);
    }
    return other == position;
}

/* Each element of a cycle takes the place of the one before: a piece of it, in so many matrices. */
static void turn_cycle(const struct tg_matrices *matrices, int32_t start, uint8_t *base, int32_t count, int32_t bytes)
{
    const int32_t step = matrices->rows * matrices->columns * matrices->element_bytes;
    uint8_t bytes_held[HELD_BYTES];
    const struct pieces held = {bytes_held, bytes};
    struct pieces to = {base + start * matrices->element_bytes, step};

    move_pieces(held, to, count, bytes);
    for (int32_t next = source_of(matrices, start); next != start; next = source_of(matrices, next)) {
        const struct pieces from = {base + next * matrices->element_bytes, step};

        move_pieces(to, from, count, bytes);
        to = from;
    }
    move_pieces(to, held, count, bytes);
}

void tg_transpose_in_place(const struct tg_matrices *matrices, void *data)
{
    const int32_t element = matrices->element_bytes;
    const int32_t elements = matrices->rows * matrices->columns;
    const int32_t most = element < HELD_BYTES ? HELD_BYTES / element : 1; /* matrices at a time */
    uint8_t *const bytes = data;

    for (int32_t start = 0; start < elements; start++) {
        if (!begins_cycle(matrices, start)) {
            continue;
        }
        for (int32_t first = 0; first < matrices->count; first += most) {
            const int32_t left = matrices->count - first;
            uint8_t *const base = bytes + (size_t)first * (size_t)elements * (size_t)element;

            for (int32_t done = 0; done < element; done += HELD_BYTES) {
                const int32_t rest = element - done;

                turn_cycle(
                    matrices, start, base + done, left < most ? left : most, rest < HELD_BYTES ? rest : HELD_BYTES);
            }
        }
    }
}
