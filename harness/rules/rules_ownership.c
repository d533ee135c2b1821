/* Who the target says has the memory: each byte of the device has one owner. */
#include "harness/rules/private/rules.h"

#include <inttypes.h>

enum owner { OWNER_FREE, OWNER_USED, OWNER_EVICTABLE, OWNER_HELD };
enum { OWNER_COUNT = OWNER_HELD + 1 };

struct owners {
    uint64_t bytes[OWNER_COUNT]; /* by enum owner */
};

static enum owner owner_of(const struct target_contract *contract, const struct block *block)
{
    if (block->state == BLOCK_DYING || block->kind == BLOCK_RETIRED || block->hold_count > 0 ||
        block->use_count > 0) {
        return OWNER_HELD;
    }
    const bool may_go = contract->evicts || contract->program_evicts_program;
    return block->kind == BLOCK_PROGRAM && may_go ? OWNER_EVICTABLE : OWNER_USED;
}

/* O(blocks). */
static struct owners sum_owners(const struct host *host)
{
    const struct model *model = host->model;
    struct owners owners = {
        .bytes = {
            [OWNER_FREE] = model_free_bytes(model), [OWNER_HELD] = model_reserved_bytes(model)}};
    for (size_t i = 0; i < model_slot_count(model); i++) {
        const struct block *block = model_block(model, (uint32_t)i);
        if (block->state != BLOCK_GONE) {
            owners.bytes[owner_of(&host->contract, block)] += block->size_bytes;
        }
    }
    return owners;
}

static bool check_owner(const struct evidence *evidence, const char *name, uint64_t has,
                        uint64_t should)
{
    const struct evidence named = evidence_named(evidence, name);
    return has == should ||
           evidence_break(&named, RULE_OWNERSHIP, "%s is %" PRIu64 " but should be %" PRIu64, name,
                          has, should);
}

static bool check_sum(const struct evidence *evidence)
{
    const struct target_stats *stats = evidence->stats;
    const uint64_t capacity = model_capacity_bytes(evidence->host->model);
    const struct evidence named = evidence_named(evidence, "sum");
    uint64_t sum = 0;
    const bool is_too_large = __builtin_add_overflow(stats->free_bytes, stats->used_bytes, &sum) ||
                              __builtin_add_overflow(sum, stats->evictable_bytes, &sum) ||
                              __builtin_add_overflow(sum, stats->held_bytes, &sum);
    return (!is_too_large && sum == capacity) ||
           evidence_break(&named, RULE_OWNERSHIP,
                          "free %" PRIu64 ", used %" PRIu64 ", evictable %" PRIu64
                          " and held %" PRIu64 " do not add up to %" PRIu64,
                          stats->free_bytes, stats->used_bytes, stats->evictable_bytes,
                          stats->held_bytes, capacity);
}

/* The sum costs nothing; who has what is asked where the largest hole is. */
bool rules_judge_ownership(const struct evidence *evidence)
{
    const struct target_stats *stats = evidence->stats;
    if (!evidence->host->contract.counts_owners) {
        return true;
    }
    if (!check_sum(evidence)) {
        return false;
    }
    if (!evidence->with_holes) {
        return true;
    }
    const struct owners is = sum_owners(evidence->host);
    return check_owner(evidence, "free_bytes", stats->free_bytes, is.bytes[OWNER_FREE]) &&
           check_owner(evidence, "used_bytes", stats->used_bytes, is.bytes[OWNER_USED]) &&
           check_owner(evidence, "evictable_bytes", stats->evictable_bytes,
                       is.bytes[OWNER_EVICTABLE]) &&
           check_owner(evidence, "held_bytes", stats->held_bytes, is.bytes[OWNER_HELD]);
}
