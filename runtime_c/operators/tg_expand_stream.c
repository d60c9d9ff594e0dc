/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_expand.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#endif

enum {
    WORDS_OF_4 = 2, /* of weights, of whose codes of 4 bits a word holds those */
    WORDS_OF_2 = 4,
    VECTOR = 4 /* words of codes */
};

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

/** Whole vectors of codes, in lanes of bytes; returns the words of weights. */
static inline int32_t expand_vectors_of_4(const int32_t *codes, int32_t count, uint32_t *words)
{
    const int32_t step = VECTOR * WORDS_OF_4;
    int32_t done = 0;

    for (; count - done >= step; done += step) {
        const uint8x16_t found = vreinterpretq_u8_s32(vldrwq_s32(codes));
        uint32x4x2_t vectors;

        vectors.val[0] = vreinterpretq_u32_u8(vsubq_n_u8(vandq_u8(found, vdupq_n_u8(0x0F)), 8));
        vectors.val[1] = vreinterpretq_u32_u8(vsubq_n_u8(vshrq_n_u8(found, 4), 8));
        vst2q_u32(words + done, vectors);
        codes += VECTOR;
    }
    return done;
}

static inline int32_t expand_vectors_of_2(const int32_t *codes, int32_t count, uint32_t *words)
{
    const int32_t step = VECTOR * WORDS_OF_2;
    const uint8x16_t mask = vdupq_n_u8(0x03);
    int32_t done = 0;

    for (; count - done >= step; done += step) {
        const uint8x16_t found = vreinterpretq_u8_s32(vldrwq_s32(codes));
        uint32x4x4_t vectors;

        vectors.val[0] = vreinterpretq_u32_u8(vsubq_n_u8(vandq_u8(found, mask), 2));
        vectors.val[1] = vreinterpretq_u32_u8(vsubq_n_u8(vandq_u8(vshrq_n_u8(found, 2), mask), 2));
        vectors.val[2] = vreinterpretq_u32_u8(vsubq_n_u8(vandq_u8(vshrq_n_u8(found, 4), mask), 2));
        vectors.val[3] = vreinterpretq_u32_u8(vsubq_n_u8(vshrq_n_u8(found, 6), 2));
        vst4q_u32(words + done, vectors);
        codes += VECTOR;
    }
    return done;
}

#else

static inline int32_t expand_vectors_of_4(const int32_t *codes, int32_t count, uint32_t *words)
{
    (void)codes;
    (void)count;
    (void)words;
    return 0;
}

static inline int32_t expand_vectors_of_2(const int32_t *codes, int32_t count, uint32_t *words)
{
    (void)codes;
    (void)count;
    (void)words;
    return 0;
}

#endif

/** The weights of a word, from their sums with `bias`: lanes lend nothing to each other. */
static inline uint32_t weights_of(uint32_t sums, uint32_t bias, uint32_t signs)
{
    return ((sums | signs) - bias) ^ signs;
}

/** `count` words of weights, four each. */
static inline void expand_4(const int32_t *codes, int32_t count, uint32_t signs, uint32_t *words)
{
    const uint32_t mask = 0x0F0F0F0FU;
    const uint32_t bias = 0x08080808U;
    int32_t left = count;

    for (; left >= WORDS_OF_4; left -= WORDS_OF_4) {
        const uint32_t found = (uint32_t)*codes++;

        words[0] = weights_of(found & mask, bias, signs);
        words[1] = weights_of((found >> 4) & mask, bias, signs);
        words += WORDS_OF_4;
    }
    if (left > 0) {
        *words = weights_of((uint32_t)*codes & mask, bias, signs);
    }
}

static inline void expand_2(const int32_t *codes, int32_t count, uint32_t signs, uint32_t *words)
{
    const uint32_t mask = 0x03030303U;
    const uint32_t bias = 0x02020202U;
    int32_t left = count;

    for (; left >= WORDS_OF_2; left -= WORDS_OF_2) {
        const uint32_t found = (uint32_t)*codes++;

        words[0] = weights_of(found & mask, bias, signs);
        words[1] = weights_of((found >> 2) & mask, bias, signs);
        words[2] = weights_of((found >> 4) & mask, bias, signs);
        words[3] = weights_of((found >> 6) & mask, bias, signs);
        words += WORDS_OF_2;
    }
    if (left > 0) {
        uint32_t found = (uint32_t)*codes;

        for (; left > 0; left--) {
            *words++ = weights_of(found & mask, bias, signs);
            found >>= 2;
        }
    }
}

/** Words of weights of 16 bits, two each. */
static inline void expand_halves(const struct tg_expansion *expansion, const int32_t *codes, uint32_t *words)
{
    const int32_t bits = expansion->bits;
    const int32_t shift = expansion->shift;
    const int32_t at_once = expansion->words_of_code;
    const uint32_t mask = 0x00010001U * ((1U << bits) - 1U);
    const uint32_t bias = 0x00010001U << (bits - 1 + shift);

    for (int32_t left = expansion->weights; left > 0; left -= at_once) {
        const int32_t here = left < at_once ? left : at_once;
        uint32_t found = (uint32_t)*codes++;

        for (int32_t i = 0; i < here; i++) {
            *words++ = weights_of((found & mask) << shift, bias, 0x80008000U);
            found >>= bits;
        }
    }
}

/** The weights of one group. */
static inline void expand_group(const struct tg_expansion *expansion, const int32_t *codes, uint32_t *words)
{
    const uint32_t signs = expansion->signs;
    const int32_t count = expansion->weights;
    int32_t done; /* in vectors, which have lanes of bytes */

    if (expansion->lane > 8) {
        expand_halves(expansion, codes, words);
    } else if (expansion->bits == 4) {
        done = signs == 0x80808080U ? expand_vectors_of_4(codes, count, words) : 0;
        expand_4(codes + done / WORDS_OF_4, count - done, signs, words + done);
    } else {
        done = signs == 0x80808080U ? expand_vectors_of_2(codes, count, words) : 0;
        expand_2(codes + done / WORDS_OF_2, count - done, signs, words + done);
    }
}

static inline void copy_numbers(const int32_t *numbers, int32_t count, uint32_t *words)
{
    for (int32_t i = 0; i < count; i++) {
        words[i] = (uint32_t)numbers[i];
    }
}

const int32_t *tg_expand_stream(const struct tg_expansion *expansion, int32_t first, int32_t groups, void *scratch)
{
    const int32_t before = expansion->before;
    const int32_t behind = expansion->behind;
    const int32_t *numbers = expansion->numbers + first * (before + behind);
    const int32_t *codes = expansion->codes + first * expansion->code_words;
    uint32_t *words = scratch;

    for (int32_t i = 0; i < groups; i++) {
        copy_numbers(numbers, before, words);
        words += before;
        expand_group(expansion, codes, words);
        words += expansion->weights;
        copy_numbers(numbers + before, behind, words);
        words += behind;
        numbers += before + behind;
        codes += expansion->code_words;
    }
    return scratch;
}
