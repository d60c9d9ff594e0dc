/* From characters to commands, and from commands to words. */
#include "command_line.h"
#include "mlperf_api.h"

static char line[EE_CMD_SIZE + 1];
static size_t length;    /* of the command so far */
static bool is_overlong; /* more characters came than a command may have: they are dropped */

static void execute(void)
{
    line[length] = '\0';
    if (is_overlong) {
        th_printf("e-[Command longer than %u characters]\r\n", EE_CMD_SIZE);
        th_printf(EE_MSG_READY);
    } else {
        th_command_ready(line);
    }
    length = 0;
    is_overlong = false;
}

void ee_serial_callback(char character)
{
    if (character == EE_CMD_TERMINATOR) {
        execute();
    } else if (character == '\r' || character == '\n' || character == '\0') {
        /* a person at a terminal, or noise while the port opens: no part of a command */
    } else if (length < EE_CMD_SIZE) {
        line[length++] = character;
    } else {
        is_overlong = true;
    }
}

char *next_word(char **rest)
{
    char *word = *rest;
    char *end;

    while (*word == ' ') {
        word++;
    }
    for (end = word; *end != '\0' && *end != ' '; end++) {
    }
    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return end == word ? NULL : word;
}

bool is_word(const char *word, const char *other)
{
    while (*word != '\0' && *word == *other) {
        word++;
        other++;
    }
    return *word == *other;
}

int32_t decimal(const char *word)
{
    const bool is_negative = *word == '-';
    int32_t value = 0;

    for (word += is_negative ? 1 : 0; *word >= '0' && *word <= '9'; word++) {
        const int32_t digit = *word - '0';

        value = value > (INT32_MAX - digit) / 10 ? INT32_MAX : value * 10 + digit;
    }
    return is_negative ? -value : value;
}
