/* What the machines of tg_target.h that are no host share: semihosting, start-up, the stack gauge. */
#ifndef TG_EMBEDDED_H
#define TG_EMBEDDED_H

#include <stdint.h>

/* Of the linker script. */
extern uint32_t tg_stack_limit[], tg_stack_top[]; /* the stack grows down from top to limit */
extern uint32_t tg_data_start[], tg_data_end[];
extern const uint32_t tg_data_image[];
extern uint32_t tg_bss_start[], tg_bss_end[];
/* Constants and code that lie in RAM: from where, to where, up to where; none where both are null. */
extern uint32_t *const tg_hot_list[][3], *const tg_hot_list_end[][3];

/* What free words of the stack are painted with. */
#define TG_STACK_PATTERN 0xC5A3965C

/* Up to where tg_stack_paint went. */
extern const uint32_t *volatile tg_painted_end;

/* Ask the debugger or emulator: `argument` is the address of words in memory. Returns its answer. */
int32_t tg_semihosting(int32_t operation, uintptr_t argument);

/* From now on the core executes what was written, where it was code. */
void tg_synchronize_code(void);

/* Give variables their values, run the program and end it. */
_Noreturn void tg_run(void);

/* Print a name and eight hexadecimal digits. */
void tg_print_hex(const char *name, uint32_t value);

#endif
