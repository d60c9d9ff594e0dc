/* `db`: the buffer that the host fills in small pieces. */
#include "command_line.h"
#include "mlperf_api.h"

#include <string.h>

#define BYTES_PER_LINE 8 /* of `db print` */

static uint8_t buffer[MAX_DB_INPUT_SIZE];
static size_t announced; /* bytes by `db load`; 0: none */
static size_t loaded;    /* of them */

static void load(const char *bytes)
{
    const int32_t count = bytes == NULL ? 0 : decimal(bytes);

    announced = 0;
    loaded = 0;
    if (bytes == NULL) {
        th_printf("e-[Command 'db load' requires the # of bytes]\r\n");
    } else if (count <= 0) {
        th_printf("e-[Command 'db load' must be >0 bytes]\r\n");
    } else if (count > MAX_DB_INPUT_SIZE) {
        th_printf("Supplied buffer size %d exceeds maximum of %d\r\n", (int)count, MAX_DB_INPUT_SIZE);
    } else {
        announced = (size_t)count;
        th_printf("m-[Expecting %d bytes]\r\n", (int)count);
    }
}

static void print(void)
{
    for (size_t i = 0; i < loaded; i++) {
        const bool is_first = i % BYTES_PER_LINE == 0;
        const bool is_last = i % BYTES_PER_LINE == BYTES_PER_LINE - 1 || i == loaded - 1;

        th_printf("%s%02x%s", is_first ? "m-buffer-" : "", (unsigned)buffer[i], is_last ? "\r\n" : "-");
    }
}

/* Value of a hex digit, -1 where it is none. */
static int hex_digit(char character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + 10;
    }
    if (character >= 'A' && character <= 'F') {
        return character - 'A' + 10;
    }
    return -1;
}

/* Bytes up to the first bad digit; digits beyond the announced size are ignored with the word that completes it. */
static void append(const char *digits)
{
    if (strlen(digits) % 2 != 0) {
        th_printf("e-[Insufficient number of hex digits]\r\n");
        return;
    }
    if (loaded == announced) {
        th_printf("e-[%u of %u bytes are loaded]\r\n", (unsigned)loaded, (unsigned)announced);
        return;
    }
    for (; *digits != '\0' && loaded < announced; digits += 2) {
        const int high = hex_digit(digits[0]);
        const int low = hex_digit(digits[1]);

        if (high < 0 || low < 0) {
            th_printf("e-[Invalid hex digit '%c%c']\r\n", digits[0], digits[1]);
            return;
        }
        buffer[loaded++] = (uint8_t)(high * 16 + low);
    }
    if (loaded == announced) {
        th_printf("m-load-done\r\n");
    }
}

void download_command(char *rest)
{
    const char *word = next_word(&rest);

    if (word == NULL) {
        th_printf("e-[Command 'db' requires a subcommand]\r\n");
    } else if (is_word(word, "load")) {
        load(next_word(&rest));
    } else if (is_word(word, "print")) {
        print();
    } else {
        append(word);
    }
}

size_t ee_get_buffer(uint8_t *to, size_t max_bytes)
{
    const size_t bytes = loaded < max_bytes ? loaded : max_bytes;

    if (to != NULL) {
        memcpy(to, buffer, bytes);
    }
    return bytes;
}
