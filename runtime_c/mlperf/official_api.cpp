/*
 * The benchmark's own API instead of command_line.c, commands.c and download.c: its sources as they are, with C
 * linkage, because the submitter's side is C.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "api/internally_implemented.cpp"

/* What the API calls besides th_*; its other hooks are declared, but not used. */
size_t th_strnlen(const char *text, size_t max_length)
{
    return strnlen(text, max_length);
}

/* strtok of newlib allocates its state once, and asserts that it got it: this keeps stdio out of the program. */
[[noreturn]] void __assert_func(const char *, int, const char *, const char *)
{
    for (;;) {
    }
}

void *_sbrk(ptrdiff_t bytes)
{
    alignas(8) static char heap[4096];
    static ptrdiff_t used;

    if (bytes > (ptrdiff_t)sizeof heap - used) {
        return (void *)-1;
    }
    used += bytes;
    return heap + used - bytes;
}
}
