/* Listening for the word: what `start` and `stop` do, and what happens in between. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdbool.h>
#include <stdint.h>

/** Process a block of samples if one is there; whether one was. */
bool listen_to_block(void);

/** Forget all samples so far. */
void model_forget(void);

/** Take the next BLOCK_SAMPLES samples; *activation is the stored output for the word. Returns 0, or what failed. */
int model_hear(const int16_t *samples, int8_t *activation);

#endif
