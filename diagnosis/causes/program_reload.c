#include "diagnosis/cause.h"
#include "diagnosis/strength.h"

static const struct evidence_block *find_evicted_program(const struct evidence *evidence)
{
    if (evidence->op == NULL || evidence->op->kind != OP_EXECUTE) {
        return NULL;
    }
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        if (block->op == evidence->op->ref && block->kind == BLOCK_PROGRAM &&
            block->state == BLOCK_GONE) {
            return block;
        }
    }
    return NULL;
}

static const struct history_eviction *find_eviction(const struct evidence *evidence,
                                                    uint32_t program)
{
    const struct history_host *host = &evidence->history->hosts[evidence->host];
    for (uint32_t i = host->eviction_count; i > 0; i--) {
        if (host->evictions[i - 1].program == program) {
            return &host->evictions[i - 1];
        }
    }
    return NULL;
}

/* Blocks made by that op or later that still are there. */
static uint64_t count_bytes_since(const struct evidence *evidence, uint32_t op)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < evidence->block_count; i++) {
        const struct evidence_block *block = &evidence->blocks[i];
        bytes += block->state != BLOCK_GONE && block->kind != BLOCK_RETIRED && block->op >= op
                     ? block->size_bytes
                     : 0;
    }
    return bytes;
}

static void describe_eviction(const struct evidence *evidence,
                              const struct history_eviction *eviction, struct diagnosis *diagnosis)
{
    const struct op *op = &evidence->ops->ops[eviction->op];
    const uint64_t taken = count_bytes_since(evidence, eviction->op);
    const struct tag_text name = evidence_tag_name(evidence, evidence_tag_of(evidence, op));
    if (op->kind == OP_EXECUTE) { /* whether it needed its image, too, is not known any more */
        diagnosis_describe(diagnosis, "It was evicted for op %u (an execution of '%s')",
                           eviction->op, name.text);
    } else {
        diagnosis_describe(diagnosis, "It was evicted for op %u (%s for '%s')", eviction->op,
                           size_text_of(op->size_bytes + evidence_stack_bytes(evidence, op)).text,
                           name.text);
    }
    diagnosis_describe(diagnosis, "; %s of what is in use now came in since then.",
                       size_text_of(taken).text);
    diagnosis_number(diagnosis, "evicted_for_op", eviction->op);
    diagnosis_number(diagnosis, "taken_since_bytes", taken);
}

static void find_program_reload(const struct evidence *evidence, struct diagnosis *diagnosis)
{
    const struct evidence_block *program = find_evicted_program(evidence);
    if (program == NULL) {
        return;
    }
    const struct history_eviction *eviction = find_eviction(evidence, program->op);
    strength_set(diagnosis, STRENGTH_PROGRAM_RELOAD);
    diagnosis->op = program->op;
    diagnosis_tag(diagnosis, program->tag);
    diagnosis_number(diagnosis, "image_bytes", program->size_bytes);
    diagnosis_number(diagnosis, "stack_bytes", program->image_stack_bytes);
    diagnosis_describe(
        diagnosis,
        "Program '%s' (op %u, image %s, stack %s) fitted when it was loaded. It was evicted, and has to be loaded again. ",
        evidence_tag_name(evidence, program->tag).text, program->op,
        size_text_of(program->size_bytes).text, size_text_of(program->image_stack_bytes).text);
    if (eviction != NULL) {
        describe_eviction(evidence, eviction, diagnosis);
    }
}

const struct cause cause_program_reload = {
    .name = "program_reload",
    .summary = "a program was evicted, and buffers took its memory",
    .claim = CLAIM_TIGHT,
    .find = find_program_reload,
    .remedies = {&remedy_unload, &remedy_programs, &remedy_sharding},
};
