/* SPDX-License-Identifier: Apache-2.0 */
#include "tg_control.h"

#include <string.h>

int tg_branch(const struct tg_branch *branch, const void *const *inputs, void *const *outputs, int8_t *arena)
{
    const struct tg_part *const part = *(const uint8_t *)inputs[0] ? &branch->when_true : &branch->when_false;
    int status;

    for (int32_t i = 0; i < part->input_count; ++i) {
        const struct tg_passed *const passed = &part->inputs[i];

        memcpy(arena + passed->offset, inputs[1 + passed->value], (size_t)passed->bytes);
    }
    status = part->run(arena);
    if (status != 0) {
        return status;
    }
    for (int32_t i = 0; i < part->output_count; ++i) {
        const struct tg_passed *const passed = &part->outputs[i];

        memcpy(outputs[passed->value], arena + passed->offset, (size_t)passed->bytes);
    }
    return 0;
}
