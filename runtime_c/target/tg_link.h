/* The serial line to the host of a program on a board: what the harness asks for besides tg_target.h. */
#ifndef TG_LINK_H
#define TG_LINK_H

#include <stdint.h>

/* What the host asks a program to do besides running samples; `tinygen/build/link.py` has the same numbers. */
enum tg_mode { TG_MODE_CYCLES = 1, TG_MODE_PER_OPERATOR = 2, TG_MODE_STACK = 3, TG_MODE_TRACE = 4 };

/* What counts cycles. */
enum tg_counter { TG_COUNTER_SYSTICK = 1, TG_COUNTER_DWT = 2, TG_COUNTER_MCYCLE = 3 };

/* Wait for the host, and say which program this is: eight bytes. Returns what it is to do. */
enum tg_mode tg_wait_for_host(const uint8_t program[8]);

/* Start the counter, and say which it is. */
enum tg_counter tg_counter_kind(void);

/* Begin anew, as after power-up. */
_Noreturn void tg_restart(void);

#endif
