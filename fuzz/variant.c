#include "fuzz/variant.h"

#include "fuzz/finding.h"
#include "harness/base/check.h"
#include "harness/oracle/exhaustive.h"
#include "harness/run/run_state.h"

#include <stdio.h>
#include <stdlib.h>

bool variant_op_is_request(const struct op *op)
{
    return op->kind == OP_ALLOC || op->kind == OP_OUTPUT || op->kind == OP_LOAD ||
           op->kind == OP_EXECUTE;
}

static uint64_t mix_variant(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 32;
}

static uint64_t digest_blocks(const struct oom *oom)
{
    uint64_t digest = mix_variant(oom->capacity_bytes, oom->block_count);
    for (size_t i = 0; i < oom->block_count; i++) {
        const struct oom_block *block = &oom->blocks[i];
        digest = mix_variant(mix_variant(mix_variant(digest, block->address), block->size_bytes),
                             block->used_until_ns);
        digest = mix_variant(mix_variant(mix_variant(digest, block->freed_at_ns), block->op),
                             block->hold_count);
    }
    return digest;
}

static void take_variant(struct oom *oom, const struct model *model)
{
    oom_take(oom, model, &(struct oom_request){.own_op = OP_NONE}, 0);
}

/* Their order is not the same everywhere. */
static uint64_t digest_pending(const struct model *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model_event_count(model); i++) {
        sum += mix_variant(1, model_event_op(model, i));
    }
    return sum;
}

static void note_variant(struct variant *variant, const struct run *run, uint8_t host)
{
    const struct observation *seen = run_observation(run);
    if (variant->note_count == variant->note_capacity) {
        variant->note_capacity = variant->note_capacity * 2 + 256;
        variant->notes = realloc(variant->notes, variant->note_capacity * sizeof *variant->notes);
        CHECK(variant->notes != NULL);
    }
    variant->notes[variant->note_count++] = (struct variant_note){
        .result = seen->result,
        .is_skipped = seen->skipped != 0,
        .size_bytes = seen->size_bytes,
        .now_ns = seen->now_ns,
        .pending = digest_pending(run_model(run, host)),
        .in_use_bytes = seen->bytes_in_use,
        .reserved_bytes = seen->bytes_reserved,
        .unload_count = seen->unload_count,
        .state = variant->state,
    };
}

_Noreturn static void end_disputed(const struct variant *variant, const struct run *run,
                                   const char *reason)
{
    finding_print_ops(variant->target_name, run_setup(run), run_ops(run));
    finding_end_check(variant->fuzz_target, FINDING_JUDGES_DIFFER, "%s", reason);
}

/* The run itself asks for a second opinion now and then; here each verdict gets one. */
static void judge_again(const struct variant *variant, const struct run *run,
                        const struct verdict *verdict)
{
    const bool is_decided = verdict->kind == VERDICT_JUSTIFIED ||
                            verdict->kind == VERDICT_PREMATURE;
    const enum verdict_kind tried = is_decided ? exhaustive_judge(&run->judge.oom) : VERDICT_NONE;
    if (tried != VERDICT_NONE && tried != verdict->kind) {
        end_disputed(variant, run, verdict->reason);
    }
}

static void take_note(void *context, const struct run *run, const struct verdict *verdict)
{
    static struct oom oom; /* kept from one op to the next */
    struct variant *variant = context;
    note_variant(variant, run, variant->ops->ops[variant->note_count].host);
    judge_again(variant, run, verdict);
    variant->state = 0;
    const struct op *next = &variant->ops->ops[variant->note_count];
    if (variant->note_count < variant->ops->count && variant_op_is_request(next)) {
        take_variant(&oom, run_model(run, next->host));
        variant->state = digest_blocks(&oom);
    }
}

static void set_options(struct variant *variant, const struct setup *setup)
{
    variant->setup = *setup;
    if (variant->defrag == NULL) {
        variant->setup.option_count = 0;
    } else {
        CHECK(setup_set_option(&variant->setup, "defrag", variant->defrag));
    }
}

static void begin_variant(struct variant *variant, struct input *playing, const struct input *input)
{
    if (variant->player == NULL) {
        variant->player = player_create(variant->target);
    }
    set_options(variant, &input->setup);
    *playing = *input; /* what it owns stays the caller's */
    playing->setup = variant->setup;
    variant->ops = &input->ops;
    variant->note_count = 0;
    variant->state = 0;
}

const struct run *variant_play(struct variant *variant, const struct input *input)
{
    static struct input playing;
    struct verdict verdict;
    begin_variant(variant, &playing, input);
    const struct run_listener listener = {.context = variant, .judged = take_note};
    const struct run *run = player_play(variant->player, &playing, &listener, &verdict);
    if (run != NULL && run_is_broken(run) && verdict.kind == VERDICT_DISPUTED) {
        end_disputed(variant, run, verdict.reason);
    }
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct play_finding){variant->fuzz_target, variant->target,
                                           variant->target_name, run_setup(run), run_ops(run),
                                           &verdict});
    }
    return run;
}

uint64_t variant_state(struct variant *variant, struct input *input, size_t count, uint8_t host,
                       struct oom *oom)
{
    const struct setup setup = input->setup;
    input->setup = variant->setup;
    const struct run *run = player_play_first(variant->player, input, count, NULL, NULL);
    input->setup = setup;
    CHECK(run != NULL);
    take_variant(oom, run_model(run, host));
    return model_now_ns(run_model(run, host));
}
