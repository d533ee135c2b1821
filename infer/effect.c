#include "infer/effect.h"

#include "harness/base/hash.h"
#include "infer/inference.h"

#include <string.h>

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

static void add_sight(struct effects *effects, const struct sight *sight)
{
    const struct observation *seen = &sight->seen;
    add_word(effects, EFFECT_ANSWERS, (uint64_t)seen->result << 1 | seen->skipped);
    add_word(effects, EFFECT_ADDRESSES, seen->address);
    add_word(effects, EFFECT_SIZES, seen->size_bytes);
    add_word(effects, EFFECT_DEVICE_CALLS, seen->calls_digest);
    add_word(effects, EFFECT_COUNTERS, sight->counters_digest);
    add_word(effects, EFFECT_MESSAGES, seen->message_digest);
}

static void add_trace(struct effects *effects, const struct trace *trace)
{
    add_word(effects, EFFECT_OPENING, trace->is_opened);
    add_word(effects, EFFECT_OPENING, trace->facts[FACT_SMALLEST_CAPACITY]);
    add_word(effects, EFFECT_OPENING, trace->facts[FACT_LARGEST_CAPACITY]);
    add_word(effects, EFFECT_ANSWERS, trace->is_dead);
    add_contract(effects, &trace->contract);
    for (size_t op = 0; op < trace->ops.count; op++) {
        add_sight(effects, &trace->sights[op]);
    }
    for (enum fact fact = FACT_HOST_OPEN; fact <= FACT_HOST_END; fact++) {
        add_word(effects, EFFECT_HOST_MEMORY, trace->facts[fact]);
    }
    for (size_t i = 0; i < trace->findings.count; i++) {
        effects->hashes[EFFECT_FINDINGS] = hash_string(effects->hashes[EFFECT_FINDINGS],
                                                       trace->findings.findings[i].signature);
    }
}

struct effects effects_read(const struct trace *traces, const struct writing *output)
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
