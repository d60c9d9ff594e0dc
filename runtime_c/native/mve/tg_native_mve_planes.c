/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_planes.h"
#include "tg_native_mve_clamp.h"

enum { GROUP = 8 }; /* channels of a vector of 16-bit values */

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/*
 * Words of a line of the planes: `words` of them from `word` on, behind `before` and in front of `behind`. All that is
 * not inside the input is read from `padding`.
 */
static void pack_words(const struct tg_native_mve_depthwise *layer, const int8_t *input, const int8_t *padding,
    int32_t line, int32_t word, struct tg_native_mve_pack *pack)
{
    const int32_t is_4_lines = layer->lines_in_word == 4;
    const int32_t line_step = is_4_lines ? 1 : 0;
    const int32_t position_step = 1 - line_step;
    const int32_t step = layer->input_position_step * (is_4_lines ? 1 : 4);
    int32_t y = line;
    int32_t x = (is_4_lines ? word : 4 * word) - layer->first_position;

    for (int32_t i = 0; i < 4; i++, y += line_step, x += position_step) {
        const int32_t is_inside = y >= 0 && y < layer->input_lines && x >= 0 && x < layer->input_positions;
        pack->pixels[i] = is_inside ? input + y * layer->input_line_step + x * layer->input_position_step : padding;
        pack->steps[i] = is_inside ? step : 0;
        pack->group_steps[i] = is_inside ? GROUP : 0;
    }
    tg_native_mve_pack_words(pack);
    pack->plane += 4 * (pack->before + pack->words + pack->behind);
}

/* A word has 4 lines. */
static void pack_columns(const struct tg_native_mve_depthwise *layer, const int8_t *input, const int8_t *padding,
    int32_t line, struct tg_native_mve_pack *pack)
{
    pack->before = smaller(layer->first_position, layer->words);
    pack->words = smaller(layer->input_positions, layer->words - pack->before);
    pack->behind = layer->words - pack->before - pack->words;
    pack_words(layer, input, padding, line, layer->first_position, pack);
}

/* A word has 4 positions: those that are partly padding one by one. */
static void pack_line(const struct tg_native_mve_depthwise *layer, const int8_t *input, const int8_t *padding,
    int32_t line, struct tg_native_mve_pack *pack)
{
    pack->before = 0;
    pack->behind = 0;
    for (int32_t word = 0; word < layer->words; word += pack->words) {
        const int32_t position = 4 * word - layer->first_position;
        const int32_t whole = position < 0 ? 0 : (layer->input_positions - position) / 4;
        pack->words = whole > 0 ? smaller(whole, layer->words - word) : 1;
        pack_words(layer, input, padding, line, word, pack);
    }
}

/* Packs what lines of output from `first` on need; returns bytes of the planes between these lines, or pairs of them.
 */
static int32_t pack_lines(const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *scratch,
    int32_t channels, int32_t first, int32_t lines)
{
    const uint32_t zeros = (uint8_t)layer->zero_point * 0x01010101U;
    const uint32_t padding_words[GROUP / 4] = {zeros, zeros};
    const int8_t *const padding = (const int8_t *)padding_words;
    const int32_t is_4_lines = layer->lines_in_word == 4;
    const int32_t steps = lines / layer->lines_in_step;
    const int32_t stride = layer->lines_in_step * layer->line_stride;
    const int32_t line_bytes = 4 * layer->words;
    const int32_t count = is_4_lines ? steps : (steps - 1) * stride + layer->filter_lines;
    int32_t line = first * layer->line_stride - layer->first_line;
    struct tg_native_mve_pack pack = {
        .plane_bytes = layer->plane_bytes, .channels = channels, .zero_point = layer->zero_point};

    for (int32_t i = 0; i < count; i++, line += is_4_lines ? stride : 1) {
        pack.plane = scratch + i * line_bytes;
        (is_4_lines ? pack_columns : pack_line)(layer, input, padding, line, &pack);
    }
    return is_4_lines ? line_bytes : stride * line_bytes;
}

/* Lines of output from `first` on of some channels. */
static void convolve_lines(const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_filter *filter, const int32_t *stream, int32_t channels, int32_t first,
    int32_t lines)
{
    struct tg_native_mve_planes planes = {
        .stream = stream,
        .plane = scratch,
        .output = output + first * layer->output_line_step,
        .channels = channels,
        .plane_bytes = layer->plane_bytes,
        .lines = lines / layer->lines_in_step,
        .line_bytes = pack_lines(layer, input, scratch, channels, first, lines),
        .output_line_step = layer->lines_in_step * layer->output_line_step,
        .positions = layer->output_positions,
        .position_step = layer->output_position_step,
        .position_bytes = layer->position_bytes,
        .vectors = layer->lines_in_word == 4 ? 1 : layer->filter_lines,
        .vector_bytes = 4 * layer->words,
        .zero_point = layer->output_zero_point,
    };
    filter(&planes);
}

/* One batch; where lines are computed in pairs, the last one of an odd number makes a pair with the one before it. */
static void convolve_one(const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_filter *filter)
{
    const int32_t whole = layer->output_lines / layer->lines_in_step * layer->lines_in_step;
    const int32_t *stream = layer->stream;

    for (int32_t channel = 0; channel < layer->channels; channel += layer->channels_at_once) {
        const int32_t channels = smaller(layer->channels_at_once, layer->channels - channel);
        for (int32_t first = 0; first < whole; first += layer->lines_at_once) {
            const int32_t lines = smaller(layer->lines_at_once, whole - first);
            convolve_lines(layer, input + channel, output + channel, scratch, filter, stream, channels, first, lines);
        }
        if (whole < layer->output_lines) {
            convolve_lines(layer, input + channel, output + channel, scratch, filter, stream, channels, whole - 1, 2);
        }
        stream += channels * layer->channel_words;
    }
}

void tg_native_mve_planes(const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_filter *filter)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, filter);
        input += layer->input_bytes;
        tg_mve_clamp(output, layer->output_bytes, layer->min, layer->max);
        output += layer->output_bytes;
    }
}
