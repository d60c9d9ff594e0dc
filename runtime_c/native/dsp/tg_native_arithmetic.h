/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic that the native kernels share; on cores with the DSP extension one or two instructions each.
 */
#ifndef TG_NATIVE_ARITHMETIC_H
#define TG_NATIVE_ARITHMETIC_H

#include <stdint.h>
#include <string.h>

#include "tg_native_names.h"

#if defined(__ARM_FEATURE_DSP) && defined(__thumb2__)
#define TG_NATIVE_DSP 1
#else
#define TG_NATIVE_DSP 0
#endif

#if defined(__thumb2__)
#define TG_NATIVE_THUMB2 1
#else
#define TG_NATIVE_THUMB2 0
#endif

#if defined(__riscv_mul) && __riscv_xlen == 32
#define TG_NATIVE_RV32 1
#else
#define TG_NATIVE_RV32 0
#endif

/* Where all its parameters are constants in each caller. */
#if TG_NATIVE_RV32
#define TG_INLINE inline __attribute__((always_inline))
#else
#define TG_INLINE inline
#endif

#define TG_LINEAR_SHIFT 2 /* in the assembly, too */

#define TG_NAKED __attribute__((naked, noinline))
#define TG_NOINLINE __attribute__((noinline)) /* keeps registers free in the caller */

/** The four bytes at `bytes`, the first one lowest. */
static inline uint32_t tg_word(const int8_t *bytes)
{
#if defined(__ARM_FEATURE_UNALIGNED)
    uint32_t word;
    memcpy(&word, bytes, sizeof word); /* one load */
    return word;
#else
    return (uint32_t)(uint8_t)bytes[0] | (uint32_t)(uint8_t)bytes[1] << 8 | (uint32_t)(uint8_t)bytes[2] << 16 |
           (uint32_t)(uint8_t)bytes[3] << 24;
#endif
}

/** Bytes 0 and 2 of a word as two signed 16-bit numbers. */
static inline uint32_t tg_even_bytes(uint32_t word)
{
#if TG_NATIVE_DSP
    uint32_t pair;
    __asm__("sxtb16 %0, %1" : "=r"(pair) : "r"(word));
    return pair;
#else
    return ((uint32_t)(int8_t)(uint8_t)word & 0xffffU) | (uint32_t)(int8_t)(uint8_t)(word >> 16) << 16;
#endif
}

/** Bytes 1 and 3 of a word as two signed 16-bit numbers. */
static inline uint32_t tg_odd_bytes(uint32_t word)
{
#if TG_NATIVE_DSP
    uint32_t pair;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(word));
    return pair;
#else
    return tg_even_bytes(word >> 8);
#endif
}

/** Two 16-bit numbers as one word. */
static inline uint32_t tg_pair(int32_t low, int32_t high)
{
    return ((uint32_t)low & 0xffffU) | (uint32_t)high << 16;
}

/** offset + value * multiplier / 2**32, rounded to nearest, halves up. */
static inline int32_t tg_scaled(int32_t value, int32_t multiplier, int32_t offset)
{
#if TG_NATIVE_DSP
    int32_t result;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(value), "r"(multiplier), "r"(offset));
    return result;
#elif TG_NATIVE_RV32
    const int64_t product = (int64_t)value * multiplier;
    return offset + (int32_t)(product >> 32) + (int32_t)((uint32_t)product >> 31);
#else
    return offset + (int32_t)(((int64_t)value * multiplier + 0x80000000LL) >> 32);
#endif
}

/** The nearest number that fits int8. */
static inline int32_t tg_saturated(int32_t value)
{
#if defined(__ARM_FEATURE_SAT)
    int32_t result;
    __asm__("ssat %0, #8, %1" : "=r"(result) : "r"(value) : "cc");
    return result;
#else
    return value < -128 ? -128 : value > 127 ? 127 : value;
#endif
}

/** An output from a doubled sum; `scale`: multiplier, offset and shift. Halves of negative values go down. */
static inline int8_t tg_rounded(int32_t doubled, const int32_t *scale)
{
    return (int8_t)tg_saturated(tg_scaled(doubled, scale[0], scale[1] + (doubled >> 31)) >> scale[2]);
}

/** An output by one multiplication; `scale`: multiplier and offset. */
static inline int8_t tg_linear(int32_t sum, const int32_t *scale)
{
    return (int8_t)tg_saturated((scale[1] + (int32_t)(((int64_t)sum * scale[0]) >> 32)) >> TG_LINEAR_SHIFT);
}

/** The low and the high half of a word as signed numbers. */
static inline int32_t tg_low(uint32_t word)
{
    return (int16_t)(uint16_t)word;
}

static inline int32_t tg_high(uint32_t word)
{
    return (int16_t)(uint16_t)(word >> 16);
}

/* Scratch and streams hold words and halves in the same place; memcpy would go byte by byte on cores that need
 * alignment.
 */
typedef int16_t __attribute__((may_alias)) tg_aliased_half;
typedef uint32_t __attribute__((may_alias)) tg_aliased_word;

/** One of the 16-bit numbers that words hold; the low half of a word stands first, as on all Cortex-M. */
static inline int32_t tg_half(const void *words, int32_t index)
{
    return ((const tg_aliased_half *)words)[index];
}

/** sum + a * b, modulo 2**32. */
static inline uint32_t tg_mac(int32_t a, int32_t b, uint32_t sum)
{
    return sum + (uint32_t)(a * b);
}

/** sum + a.low * b.low + a.high * b.high, modulo 2**32. */
static inline int32_t tg_dual_mac(uint32_t a, uint32_t b, int32_t sum)
{
    return (int32_t)((uint32_t)sum + (uint32_t)(tg_low(a) * tg_low(b)) + (uint32_t)(tg_high(a) * tg_high(b)));
}

/** What is left of 256 a + b, modulo 2**32, when b is known and a fits 24 bits: a. */
static inline uint32_t tg_parted(uint32_t joined, uint32_t other)
{
    return (uint32_t)((int32_t)(joined - other) >> 8);
}

/** Twice a number, modulo 2**32. */
static inline int32_t tg_doubled(int32_t value)
{
    return (int32_t)(2U * (uint32_t)value);
}

/** Limits bytes to [min, max]; nothing to do where that is the whole range. */
void tg_native_clamp_s8(int8_t *values, int32_t size, int32_t min, int32_t max);

#endif
