#include "infer/options.h"

#include "harness/base/hash.h"
#include "harness/base/target_option.h"
#include "infer/inference.h"

#include <string.h>

/* --- values --- */

/* Small, usual and large, for whatever is counted. */
static const char *const numbers[] = {"1", "4K", "64K"};

static void add_value(struct option_values *values, const char *text, size_t length)
{
    if (values->count == OPTION_VALUE_COUNT_MAX || length >= SETUP_NAME_BYTES) {
        values->is_open = true;
        return;
    }
    char *value = values->values[values->count++];
    memcpy(value, text, length);
    value[length] = '\0';
}

/* "a,b,c" becomes "c,b,a". */
static void add_reversed(struct option_values *values, const char *text, size_t length)
{
    char reversed[SETUP_NAME_BYTES];
    size_t used = 0, end = length;
    if (length >= sizeof reversed) {
        return;
    }
    for (size_t i = length; i-- > 0;) {
        if (i > 0 && text[i - 1] != ',') {
            continue;
        }
        memcpy(reversed + used, text + i, end - i);
        used += end - i;
        if (i > 0) {
            reversed[used++] = ',';
            end = i - 1;
        }
    }
    add_value(values, reversed, used);
}

static void add_part(struct option_values *values, const char *text, size_t length)
{
    if (length == 1 && text[0] == 'N') {
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            add_value(values, numbers[i], strlen(numbers[i]));
        }
    } else if (length == 0 || text[0] == '<' || (text[0] >= 'A' && text[0] <= 'Z')) {
        values->is_open = true;
    } else {
        add_value(values, text, length);
        if (memchr(text, ',', length) != NULL) {
            add_reversed(values, text, length);
        }
    }
}

bool option_values_next(const struct target *target, size_t *at, struct option_values *values)
{
    struct target_option_shown shown;
    *values = (struct option_values){0};
    while (target_option_next(target, at, &shown)) {
        if (shown.key_length >= SETUP_NAME_BYTES) {
            continue;
        }
        memcpy(values->key, shown.key, shown.key_length);
        for (size_t from = 0; from <= shown.values_length;) {
            size_t part = strcspn(shown.values + from, "|\n");
            part = part > shown.values_length - from ? shown.values_length - from : part;
            add_part(values, shown.values + from, part);
            from += part + 1;
        }
        return true;
    }
    return false;
}

/* --- effects --- */

const char *effect_name(enum effect effect)
{
    static const char *const names[] = {"opening",     "contract",     "answers",  "addresses",
                                        "sizes",       "device calls", "counters", "messages",
                                        "host memory", "findings",     "output"};
    return names[effect];
}

static void add_word(struct effects *effects, enum effect effect, uint64_t word)
{
    effects->hashes[effect] = hash_word(effects->hashes[effect], word);
}

static void add_contract(struct effects *effects, const struct target_contract *contract)
{
    for (enum inference_field field = 0; field < FIELD_COUNT; field++) {
        char text[INFERENCE_TEXT_BYTES] = "";
        inference_declared(field, contract, text);
        effects->hashes[EFFECT_CONTRACT] = hash_string(effects->hashes[EFFECT_CONTRACT], text);
    }
}

static void add_sight(struct effects *effects, const struct lab_sight *sight)
{
    const struct observation *seen = &sight->seen;
    add_word(effects, EFFECT_ANSWERS, (uint64_t)seen->result << 1 | seen->skipped);
    add_word(effects, EFFECT_ADDRESSES, seen->address);
    add_word(effects, EFFECT_SIZES, seen->size_bytes);
    add_word(effects, EFFECT_DEVICE_CALLS, seen->calls_digest);
    add_word(effects, EFFECT_COUNTERS, sight->counters_digest);
    add_word(effects, EFFECT_MESSAGES, seen->message_digest);
}

static void add_trace(struct effects *effects, const struct lab_trace *trace)
{
    add_word(effects, EFFECT_OPENING, trace->is_opened);
    add_word(effects, EFFECT_OPENING, trace->measured[MEASURED_SMALLEST_CAPACITY]);
    add_word(effects, EFFECT_OPENING, trace->measured[MEASURED_LARGEST_CAPACITY]);
    add_word(effects, EFFECT_ANSWERS, trace->is_dead);
    add_contract(effects, &trace->contract);
    for (size_t op = 0; op < trace->ops.count; op++) {
        add_sight(effects, &trace->sights[op]);
    }
    for (enum measured_number i = MEASURED_HOST_OPEN; i <= MEASURED_HOST_END; i++) {
        add_word(effects, EFFECT_HOST_MEMORY, trace->measured[i]);
    }
    for (size_t i = 0; i < trace->findings.count; i++) {
        effects->hashes[EFFECT_FINDINGS] = hash_string(effects->hashes[EFFECT_FINDINGS],
                                                       trace->findings.findings[i].signature);
    }
}

struct effects effects_read(const struct lab_trace *traces, const struct writing *output)
{
    struct effects effects;
    for (size_t i = 0; i < EFFECT_COUNT; i++) {
        effects.hashes[i] = HASH_START;
    }
    for (size_t i = 0; i < EXPERIMENT_COUNT; i++) {
        add_trace(&effects, &traces[i]);
    }
    effects.hashes[EFFECT_OUTPUT] = hash_string(HASH_START, writing_string(output));
    return effects;
}
