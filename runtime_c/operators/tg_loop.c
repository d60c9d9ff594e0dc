/* SPDX-License-Identifier: Apache-2.0 */
#include "tg_control.h"

#include <string.h>

static int run(const struct tg_loop *loop, const struct tg_part *part, const void *const *inputs, void *const *outputs,
    int8_t *arena)
{
    for (int32_t i = 0; i < part->input_count; ++i) {
        const struct tg_passed *const passed = &part->inputs[i];
        const int32_t value = passed->value;

        memcpy(arena + passed->offset, value < loop->variable_count ? outputs[value] : inputs[value],
            (size_t)passed->bytes);
    }
    return part->run(arena);
}

int tg_loop(const struct tg_loop *loop, const void *const *inputs, void *const *outputs, int8_t *arena)
{
    for (int32_t i = 0; i < loop->variable_count; ++i) {
        memcpy(outputs[i], inputs[i], (size_t)loop->variable_bytes[i]);
    }
    for (int32_t turn = 0;; ++turn) {
        int status = run(loop, &loop->condition, inputs, outputs, arena);

        if (status != 0 || arena[loop->condition.outputs[0].offset] == 0) {
            return status;
        }
        status = turn < loop->most_turns ? run(loop, &loop->body, inputs, outputs, arena) : -1;
        if (status != 0) {
            return status;
        }
        for (int32_t i = 0; i < loop->body.output_count; ++i) {
            const struct tg_passed *const passed = &loop->body.outputs[i];

            memcpy(outputs[passed->value], arena + passed->offset, (size_t)passed->bytes);
        }
    }
}
