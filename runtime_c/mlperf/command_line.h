/* Words and numbers of a command. */
#ifndef COMMAND_LINE_H
#define COMMAND_LINE_H

#include <stdbool.h>
#include <stdint.h>

/** The next word of `*rest`, cut off in place, or NULL where there is none; words stand between blanks. */
char *next_word(char **rest);

/** Whether two words are equal. */
bool is_word(const char *word, const char *other);

/** The decimal number that a word begins with, 0 where it begins otherwise, at most INT32_MAX in magnitude. */
int32_t decimal(const char *word);

/** Execute `db`; `rest` is what follows it in the command. */
void download_command(char *rest);

/** Execute `start` and `stop`, where the firmware listens. */
void start_command(char *rest);
void stop_command(char *rest);

#endif
