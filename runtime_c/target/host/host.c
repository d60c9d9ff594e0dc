/* tg_target.h on the machine that compiles: stdio. */
#include "tg_target.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_FILES 8

static FILE *files[MAX_FILES];

static int open_file(const char *name, const char *mode)
{
    for (int i = 0; i < MAX_FILES; i++) {
        if (files[i] == NULL) {
            files[i] = fopen(name, mode);
            return files[i] == NULL ? -1 : i;
        }
    }
    return -1;
}

int tg_open_read(const char *name)
{
    return open_file(name, "rb");
}

int tg_open_write(const char *name)
{
    return open_file(name, "wb");
}

uint32_t tg_read(int file, void *to, uint32_t bytes)
{
    return (uint32_t)fread(to, 1, bytes, files[file]);
}

uint32_t tg_write(int file, const void *from, uint32_t bytes)
{
    return (uint32_t)fwrite(from, 1, bytes, files[file]);
}

void tg_close(int file)
{
    (void)fclose(files[file]);
    files[file] = NULL;
}

void tg_print(const char *text)
{
    (void)fputs(text, stdout);
}

void tg_exit(int code)
{
    exit(code);
}

void tg_count_start(void)
{
}

uint64_t tg_count_stop(void)
{
    return 0;
}

void tg_stack_paint(void)
{
}

uint32_t tg_stack_used(void)
{
    return 0;
}
