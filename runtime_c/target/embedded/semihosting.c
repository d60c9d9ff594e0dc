/* tg_target.h: text, files and exit code over Arm semihosting ("Semihosting for AArch32 and AArch64"). */
#include "tg_embedded.h"
#include "tg_target.h"

enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_EXIT_EXTENDED = 0x20,
};

enum { MODE_READ_BINARY = 1, MODE_WRITE_BINARY = 5 }; /* fopen's "rb" and "wb" */

enum { ADP_STOPPED_APPLICATION_EXIT = 0x20026 };

static int open_file(const char *name, uintptr_t mode)
{
    const volatile char *text = name; /* volatile: no call of strlen is made of the loop */
    uintptr_t length = 0;

    while (text[length] != '\0') {
        length++;
    }
    const uintptr_t block[] = {(uintptr_t)name, mode, length};
    return tg_semihosting(SYS_OPEN, (uintptr_t)block);
}

int tg_open_read(const char *name)
{
    return open_file(name, MODE_READ_BINARY);
}

int tg_open_write(const char *name)
{
    return open_file(name, MODE_WRITE_BINARY);
}

uint32_t tg_read(int file, void *to, uint32_t bytes)
{
    const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)to, bytes};
    const int32_t missing = tg_semihosting(SYS_READ, (uintptr_t)block);

    return missing < 0 ? 0 : bytes - (uint32_t)missing;
}

uint32_t tg_write(int file, const void *from, uint32_t bytes)
{
    const uintptr_t block[] = {(uintptr_t)file, (uintptr_t)from, bytes};
    const int32_t missing = tg_semihosting(SYS_WRITE, (uintptr_t)block);

    return missing < 0 ? 0 : bytes - (uint32_t)missing;
}

void tg_close(int file)
{
    const uintptr_t block[] = {(uintptr_t)file};

    (void)tg_semihosting(SYS_CLOSE, (uintptr_t)block);
}

void tg_print(const char *text)
{
    (void)tg_semihosting(SYS_WRITE0, (uintptr_t)text);
}

void tg_exit(int code)
{
    const uintptr_t block[] = {ADP_STOPPED_APPLICATION_EXIT, (uintptr_t)code};

    (void)tg_semihosting(SYS_EXIT_EXTENDED, (uintptr_t)block);
    for (;;) {
    }
}
