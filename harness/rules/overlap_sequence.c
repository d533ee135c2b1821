#include "harness/rules/private/overlap_sequence.h"

#include "harness/base/array.h"
#include "harness/device/span_map.h"
#include "harness/rules/private/rules.h"

#include <stdlib.h>

static_assert(OP_HOST_COUNT_MAX <= 64, "a bit for each host");

void overlap_sequence_deinit(struct overlap_sequence *sequence)
{
    free(sequence->members);
    *sequence = (struct overlap_sequence){0};
}

bool overlap_sequence_note(struct overlap_sequence *sequence, const struct host *host)
{
    const uint64_t bit = UINT64_C(1) << host->index;
    const struct span_map *map = model_map(host->model);
    struct span_cursor cursor;
    struct span span;
    if (host->contract.defrag != DEFRAG_SLIDE || (sequence->noted_hosts & bit) != 0) {
        return false;
    }
    sequence->noted_hosts |= bit;
    for (bool found = span_map_first(map, &cursor); found; found = span_map_next(map, &cursor)) {
        span_map_get(map, &cursor, &span);
        const uint32_t slot = (uint32_t)span.owner;
        sequence->members = array_grown(sequence->members, sequence->count, &sequence->capacity,
                                        sizeof *sequence->members);
        sequence->members[sequence->count++] = (struct sequence_member){host, slot};
    }
    return true;
}

void overlap_sequence_drop(const struct overlap_sequence *sequence, const struct host *host,
                           uint32_t slot)
{
    for (size_t i = 0; i < sequence->count; i++) {
        struct sequence_member *member = &sequence->members[i];
        if (member->host == host && member->slot == slot) {
            member->slot = SLOT_NONE;
        }
    }
}

static bool is_there(const struct sequence_member *member, const struct host *host)
{
    return member->host == host && member->slot != SLOT_NONE &&
           model_block(host->model, member->slot)->state != BLOCK_GONE;
}

bool overlap_sequence_judge(const struct overlap_sequence *sequence, struct judge *judge,
                            const struct host *host)
{
    struct evidence evidence = {
        .judge = judge, .host = host, .sight = SIGHT_PASSED, .other = SLOT_NONE};
    for (size_t i = 0; i < sequence->count; i++) {
        if (is_there(&sequence->members[i], host)) {
            evidence.slot = sequence->members[i].slot;
            if (evidence.other != SLOT_NONE && !rule_judge(RULE_MOVED_UNASKED, &evidence)) {
                return false;
            }
            evidence.other = evidence.slot;
        }
    }
    return true;
}
