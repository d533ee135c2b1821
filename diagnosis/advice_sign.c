/* Finds signs in a list that a remedy would help, by the names of its tags. */
#include "diagnosis/advice.h"

#include "harness/base/size.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Words in names of tags, in lower case, and what they tell of. */
static const struct telling {
    const struct remedy *remedy;
    const char *what;
    const char *words[6];
} tellings[] = {
    {&remedy_checkpointing,
     "kept for the backward pass",
     {"jvp", "transpose", "backward", "forward", "activation", "acts"}},
    {&remedy_accumulation, "gradients", {".grad", "grad"}},
    {&remedy_donation, "replaced by each step", {"optimizer", "adam", "opt_state", "param"}},
    {&remedy_drop_copy, "replaced by each step", {"optimizer", "adam", "opt_state", "param"}},
    {&remedy_sharding,
     "the same on every device",
     {"optimizer", "adam", "opt_state", "exp_avg", "momentum", "param"}},
    {&remedy_precision, "float32", {"float32", "f32["}},
};
enum { TELLING_COUNT = sizeof tellings / sizeof *tellings };
enum { WORD_COUNT = sizeof tellings[0].words / sizeof *tellings[0].words };

static bool has_word(const char *name, const struct telling *telling)
{
    char lower[SETUP_NAME_BYTES];
    size_t length = 0;
    for (; name[length] != '\0' && length + 1 < sizeof lower; length++) {
        lower[length] = (char)tolower((unsigned char)name[length]);
    }
    lower[length] = '\0';
    for (size_t i = 0; i < WORD_COUNT && telling->words[i] != NULL; i++) {
        if (strstr(lower, telling->words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

bool advice_name_is_of_model(const char *name)
{
    static const struct telling of_model[] = {
        {NULL, "", {"optimizer", "adam", "opt_state", "exp_avg", "momentum", "param"}},
        {NULL, "", {"weight", "kernel", "embedding", "variable"}},
    };
    return has_word(name, &of_model[0]) || has_word(name, &of_model[1]);
}

bool advice_name_is_float32(const char *name)
{
    static const struct telling of_float32 = {NULL, "", {"float32", "f32["}};
    return has_word(name, &of_float32);
}

/* By tag: what buffers hold at the end, and how much of it is padding in all. */
struct sign_held {
    uint64_t bytes[OP_TAG_COUNT];
    uint64_t padding_bytes;
};

static void take_held(const struct remedy_case *given, struct sign_held *held)
{
    *held = (struct sign_held){0};
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        const struct remedy_life *life = &given->lives.lives[i];
        if (life->root == i && life->end == OP_NONE && op->kind != OP_LOAD) {
            held->bytes[op->tag] += life->bytes;
            held->padding_bytes += op->unpadded_bytes > 0 ? op->size_bytes - op->unpadded_bytes : 0;
        }
    }
}

static void tell_names(const struct telling *telling, const struct remedy_case *given,
                       const struct sign_held *held, char text[ADVICE_SIGN_BYTES])
{
    uint64_t bytes = 0;
    unsigned most = OP_TAG_COUNT;
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        if (held->bytes[tag] > 0 && has_word(given->setup->tags[tag], telling)) {
            bytes += held->bytes[tag];
            most = most == OP_TAG_COUNT || held->bytes[tag] > held->bytes[most] ? tag : most;
        }
    }
    if (bytes > 0) {
        snprintf(text, ADVICE_SIGN_BYTES,
                 "by their names, %s at the end are %s, most of it '%.64s'",
                 size_text_of(bytes).text, telling->what, given->setup->tags[most]);
    }
}

/* Blocks that depend on the batch live within a step. */
static void tell_of_step(const struct remedy_case *given, char text[ADVICE_SIGN_BYTES])
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < given->ops->count && given->steps.count > 0; i++) {
        const struct remedy_life *life = &given->lives.lives[i];
        const bool is_there = life->root == i && life->end == OP_NONE;
        bytes += is_there && given->steps.is_of_step[i] ? life->bytes : 0;
    }
    if (bytes > 0 && text[0] == '\0') {
        snprintf(text, ADVICE_SIGN_BYTES, "%s at the end live within a step, as a batch does",
                 size_text_of(bytes).text);
    }
}

void advice_sign(const struct remedy *remedy, const struct remedy_case *given,
                 char text[ADVICE_SIGN_BYTES])
{
    struct sign_held held;
    text[0] = '\0';
    take_held(given, &held);
    for (size_t i = 0; i < TELLING_COUNT; i++) {
        if (tellings[i].remedy == remedy) {
            tell_names(&tellings[i], given, &held, text);
        }
    }
    if (remedy == &remedy_batch || remedy == &remedy_trim || remedy == &remedy_accumulation) {
        tell_of_step(given, text);
    }
    const bool is_of_padding = remedy == &remedy_layout || remedy == &remedy_no_padding;
    if (is_of_padding && held.padding_bytes > 0) {
        snprintf(text, ADVICE_SIGN_BYTES, "%s of what is live at the end is padding",
                 size_text_of(held.padding_bytes).text);
    }
}
