/* Memory snapshots of PyTorch's CUDA allocator, as torch.cuda.memory._dump_snapshot pickles them,
 * and the same as JSON: a trace of events, and the state of every block at the end. */
#include "formats/torch/private/pickle.h"
#include "formats/torch/private/torch.h"

#include <string.h>

enum {
    SURE = 95,
    LIKELY = 60, /* a pickle of something else: to be refused by what is wrong with it */
    PICKLE_LOOKED_AT = 1 << 16
};

static bool has_word(const char *text, size_t length, const char *word)
{
    return memmem(text, length, word, strlen(word)) != NULL;
}

static bool is_json(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) {
        at++;
    }
    if (at == length || (text[at] != '{' && text[at] != '[')) {
        return false;
    }
    const bool has_blocks = has_word(text, length, "\"blocks\"") &&
                            has_word(text, length, "\"total_size\"");
    return text[at] == '[' ? has_blocks
                           : has_word(text, length, "\"segments\"") &&
                                 (has_blocks || has_word(text, length, "\"device_traces\""));
}

static unsigned recognise_snapshot(const char *text, size_t length)
{
    if (pickle_recognise(text, length)) {
        const size_t looked_at = length < PICKLE_LOOKED_AT ? length : PICKLE_LOOKED_AT;
        return has_word(text, looked_at, "segments") || has_word(text, looked_at, "total_size")
                   ? SURE
                   : LIKELY;
    }
    return is_json(text, length) ? SURE : 0;
}

static enum import_result import_snapshot(const struct import_input *input, struct import *import,
                                          struct import_error *error)
{
    return torch_import(input, TORCH_FORM_ANY, import, error);
}

const struct format format_torch_snapshot = {
    .name = "torch_snapshot",
    .summary =
        "memory snapshots of PyTorch (CUDA), pickle or JSON: the events, or the final heap where there are none",
    .recognise = recognise_snapshot,
    .import = import_snapshot,
};
