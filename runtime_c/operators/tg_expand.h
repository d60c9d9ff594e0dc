/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weights that stand in flash in four or two bits, for kernels that read a stream of int8 weights and numbers.
 */
#ifndef TG_EXPAND_H
#define TG_EXPAND_H

#include <stdint.h>

#include "tg_operator_names.h"

/** Groups of words alike: numbers, then weights in lanes of a word, then numbers. */
struct tg_expansion {
    int32_t groups;
    int32_t before;        /**< words of numbers before the weights of a group */
    int32_t weights;       /**< words of its weights */
    int32_t behind;        /**< words of numbers behind them */
    int32_t bits;          /**< of a code: 4 or 2 */
    int32_t lane;          /**< bits that a weight has in the stream: 8, or 16 */
    int32_t shift;         /**< of weights of 16 bits: they are multiplied by 1 << shift */
    int32_t words_of_code; /**< words of weights that a word of codes holds: lane / bits */
    int32_t code_words;    /**< of a group */
    uint32_t signs; /**< the highest bits of numbers: 0x80808080; 0x80008000 for 16 bits, or where two weights of 8 bits
                       are one number */
    /**
     * Weights plus 8 or 2, in lanes of which only the lowest bits are not 0. A word holds these bits of as many words
     * of the stream as it has room for, those of the first one lowest; each group begins a word.
     */
    const int32_t *codes;
    const int32_t *numbers; /**< those before the weights, then those behind them, group by group */
};

/**
 * Writes some groups from `first` on as words of the stream to scratch, which must have room for them; returns it.
 *
 * Of two weights in a lane of 16 bits, 256 * second + first, the first one is lent from the second where it is
 * negative.
 */
const int32_t *tg_expand_stream(const struct tg_expansion *expansion, int32_t first, int32_t groups, void *scratch);

#endif
