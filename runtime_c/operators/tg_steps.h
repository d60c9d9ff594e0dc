/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The walk over sequences of TG_ELEMENT that recurrent layers have in common. For one source each.
 */
#ifndef TG_STEPS_H
#define TG_STEPS_H

#include <string.h>

#include "tg_recurrent.h"

/* One step of one sequence of a batch; the hidden state stays as it was. `state` is what else
 * goes from step to step. */
typedef void (*tg_step)(
    const void *layer, void *state, int32_t batch, const TG_ELEMENT *x, const TG_ELEMENT *hidden, TG_ELEMENT *output);

/* What stands behind the end of a sequence. */
static inline void tg_fill(TG_ELEMENT *row, int32_t units, int32_t zero)
{
    for (int32_t unit = 0; unit < units; unit++) {
        row[unit] = (TG_ELEMENT)zero;
    }
}

/* All steps of one sequence: results are the next hidden states, and zeros behind its end. */
static inline void tg_steps_of(const struct tg_sequence *sequence, int32_t batch, const int32_t *lengths,
    const TG_ELEMENT *input, TG_ELEMENT *hidden, TG_ELEMENT *output, int32_t zero, tg_step step, const void *layer,
    void *state)
{
    const int32_t units = sequence->units;
    const int32_t length = tg_length_of(sequence, lengths, batch);

    if (length == 0) {
        tg_fill(hidden, units, zero);
    }
    for (int32_t count = 0; count < sequence->steps; count++) {
        const int32_t row = tg_row_of(sequence, batch, count, length);
        TG_ELEMENT *result = output + row * units;

        if (count < length) {
            step(layer, state, batch, input + row * sequence->inputs, hidden, result);
            memcpy(hidden, result, (size_t)units * sizeof *hidden);
        } else {
            tg_fill(result, units, zero);
        }
    }
}

/* The same of all sequences. */
static inline void tg_steps(const struct tg_sequence *sequence, const int32_t *lengths, const TG_ELEMENT *input,
    TG_ELEMENT *hidden, TG_ELEMENT *output, int32_t zero, tg_step step, const void *layer, void *state)
{
    for (int32_t batch = 0; batch < sequence->batches; batch++) {
        TG_ELEMENT *own = hidden + batch * sequence->units;

        tg_steps_of(sequence, batch, lengths, input, own, output, zero, step, layer, state);
    }
}

/* Of sequences without elements, all bits zero in a state whose elements have so many bytes. */
static inline void tg_forget(const struct tg_sequence *sequence, const int32_t *lengths, void *state, size_t size)
{
    const size_t bytes = (size_t)sequence->units * size;

    for (int32_t batch = 0; batch < sequence->batches; batch++) {
        if (tg_length_of(sequence, lengths, batch) == 0) {
            memset((int8_t *)state + (size_t)batch * bytes, 0, bytes);
        }
    }
}

#endif
