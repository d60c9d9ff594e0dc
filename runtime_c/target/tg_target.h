/*
 * What a test or benchmark program needs from the machine it runs on: text, files, an exit code,
 * an instruction counter and a stack gauge. Implementations: host/ (stdio), and embedded/
 * (semihosting) with cortex_m/ or riscv/. Generated models do not use it.
 */
#ifndef TG_TARGET_H
#define TG_TARGET_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exit code after a processor fault. */
#define TG_EXIT_FAULT 120

/* Open a file of the working directory for reading. Returns a handle, or -1. */
int tg_open_read(const char *name);

/* Create or overwrite a file of the working directory. Returns a handle, or -1. */
int tg_open_write(const char *name);

/* Read up to `bytes` bytes. Returns how many were read: fewer only at the end of the file. */
uint32_t tg_read(int file, void *to, uint32_t bytes);

/* Write `bytes` bytes. Returns how many were written. */
uint32_t tg_write(int file, const void *from, uint32_t bytes);

/* Close a file. */
void tg_close(int file);

/* Print text as it stands; no newline is added. */
void tg_print(const char *text);

/* Print the line `key=value`, value in decimal. */
void tg_report(const char *key, uint64_t value);

/* End the program. The code arrives as the exit code of the process or of QEMU. */
_Noreturn void tg_exit(int code);

/* Start counting instructions. */
void tg_count_start(void);

/*
 * Instructions executed since tg_count_start, to within one tick of the board's clock (of Cortex-M), where QEMU
 * runs with -icount shift=0. Returns 0 where nothing counts (the host). Every 2^24 ticks an
 * interrupt is taken: measure the stack in another run than the instructions.
 */
uint64_t tg_count_stop(void);

/* Fill the free part of the stack with a pattern. */
void tg_stack_paint(void);

/* Most bytes of stack in use since tg_stack_paint, below the caller's frame. 0 on the host. */
uint32_t tg_stack_used(void);

#ifdef __cplusplus
}
#endif

#endif
