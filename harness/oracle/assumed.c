#include "harness/oracle/assumed.h"

#include "harness/base/align.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assumed {
    struct proof proof, as_it_is, other;
    char *log;       /* of as_it_is */
    struct oom heap; /* the other one */
};

struct assumed *assumed_create(void)
{
    struct assumed *assumed = array_zeroed(1, sizeof *assumed);
    return assumed;
}

void assumed_destroy(struct assumed *assumed)
{
    free(assumed->log);
    oom_deinit(&assumed->heap);
    free(assumed);
}

static const struct oom *take_other(struct assumed *assumed, const struct oom *oom)
{
    oom_copy(&assumed->heap, oom);
    assumed->heap.request.size_bytes = oom->request.other_bytes;
    for (size_t i = 0; i < oom->block_count; i++) {
        struct oom_block *block = &assumed->heap.blocks[i];
        block->hold_count = block->is_assumed ? 0 : block->hold_count;
    }
    oom_place_others(&assumed->heap);
    return &assumed->heap;
}

/* --- the condition --- */

/* A buffer or an image: `most` is the largest request that the message allows, `least` the least
 * that is free, most <= least.
 *
 * Sliding joins the free bytes between two neighbouring pinned blocks.  So in a heap whose refusal
 * is justified each such span has at most most - granule of them.  Let all but `outside` bytes of
 * the free lie in spans that meet [from, to).  Then these spans are at least
 * (least - outside) / (most - granule) many, rounded up, and the blocks that separate them lie in
 * [from, to): one fewer, a granule each at least.  from + (capacity - to) = outside is enough for
 * that, because no more can be free outside of [from, to) than there is.
 *
 * `pins` is that number for outside = 0, the most that can be proved; then outside is the most for
 * which it stays so.  Smaller requests and more free bytes only ask for more pins, so this holds in
 * every heap that the message allows. */
static struct premature_unless find_pins(const struct oom *oom, uint64_t most, uint64_t least)
{
    const uint64_t granule = oom->granule_bytes;
    if (most <= granule) {
        return (struct premature_unless){0};
    }
    const uint64_t pins = (least - granule) / (most - granule);
    const uint64_t outside = least - granule - pins * (most - granule);
    const uint64_t below = align_down(outside / 2, granule);
    return (struct premature_unless){
        .bytes = pins * granule, .from = below, .to = oom->capacity_bytes - (outside - below)};
}

/* A stack, next to an image of need bytes: if nothing pinned lies below `to`, all else goes up, and
 * at least most + need bytes at the bottom are free. */
static struct premature_unless find_pins_of_stack(const struct oom *oom, uint64_t most,
                                                  uint64_t least)
{
    const uint64_t need = align_up(oom->request.size_bytes, oom->granule_bytes);
    if (oom_reserved_bytes(oom) > 0 || need > least - most) {
        return (struct premature_unless){0};
    }
    return (struct premature_unless){
        .bytes = oom->granule_bytes, .from = 0, .to = oom->capacity_bytes - (least - most - need)};
}

struct premature_unless assumed_condition(const struct oom *oom)
{
    const struct oom_request *request = &oom->request;
    const struct setup_reported *reported = &oom->reported;
    const uint64_t most = align_up(reported->requested_high, oom->granule_bytes);
    const uint64_t least = align_up(reported->free_low, oom->granule_bytes);
    const bool is_same = request->other_bytes == request->size_bytes;
    if (!reported->is_there || !oom_may_move(oom) || !is_same || most > least ||
        request->align_bytes != oom->granule_bytes) {
        return (struct premature_unless){0};
    }
    return request->stack_bytes > 0 ? find_pins_of_stack(oom, most, least)
                                    : find_pins(oom, most, least);
}

/* --- the verdict --- */

static void set_unknown(const struct oom *oom, struct verdict *verdict)
{
    const struct oom_request *request = &oom->request;
    const struct premature_unless unless = assumed_condition(oom);
    char *reason = verdict->reason;
    char size[SIZE_TEXT_BYTES], other[SIZE_TEXT_BYTES];
    verdict->kind = VERDICT_UNKNOWN;
    verdict->oom_class = OOM_HELD;
    verdict->premature_unless = unless;
    if (unless.bytes > 0) {
        size_print_field(unless.bytes, size);
        snprintf(reason, VERDICT_REASON_BYTES,
                 "premature, unless at least %s (%" PRIu64 " bytes) lay pinned in [0x%" PRIx64
                 ", 0x%" PRIx64 "), and the message does not say that",
                 size, unless.bytes, unless.from, unless.to);
    } else if (request->other_bytes != request->size_bytes) {
        size_print_field(request->size_bytes, size);
        size_print_field(request->other_bytes, other);
        snprintf(
            reason, VERDICT_REASON_BYTES,
            "justified if the image of the program takes %s, premature if it takes %s, and the message does not say how much it takes",
            size, other);
    } else if (oom->reported.is_there && oom->reported.requested_high > oom->reported.free_low) {
        snprintf(
            reason, VERDICT_REASON_BYTES,
            "printed sizes are rounded: by the message the request may be larger than all free memory, and it may fit into it");
    } else if (oom_has_placed(oom)) {
        snprintf(
            reason, VERDICT_REASON_BYTES,
            "justified if no free piece that could serve the request was large enough, premature if one was, and of the pieces their sum alone is known");
    } else {
        snprintf(
            reason, VERDICT_REASON_BYTES,
            "justified if the blocks '%s' could not move, premature if they could, and the message does not say whether they could",
            SETUP_ASSUMED_NAME);
    }
}

void assumed_judge(struct assumed *assumed, struct oracle *oracle, const struct oom *oom,
                   struct verdict *verdict)
{
    struct verdict other = {0};
    if (verdict->kind != VERDICT_JUSTIFIED || !oom_has_other(oom)) {
        return;
    }
    oracle_judge(oracle, take_other(assumed, oom), verdict->nodes_max, &other);
    verdict->nodes += other.nodes;
    if (other.kind == VERDICT_JUSTIFIED) {
        return;
    }
    set_unknown(oom, verdict);
}

/* --- the proof --- */

/* The log is the oracle's, which is needed again. */
static void keep_first(struct assumed *assumed, const struct proof *proof)
{
    free(assumed->log);
    assumed->log = NULL;
    assumed->as_it_is = *proof;
    if (proof->log != NULL) {
        assumed->log = strdup(proof->log);
        CHECK(assumed->log != NULL);
        assumed->as_it_is.log = assumed->log;
    }
}

const struct proof *assumed_prove(struct assumed *assumed, struct oracle *oracle,
                                  const struct oom *oom, uint64_t nodes_max,
                                  struct verdict *verdict)
{
    struct verdict other = *verdict;
    const struct proof *proof = oracle_prove(oracle, oom, nodes_max, verdict);
    if (verdict->kind != VERDICT_JUSTIFIED || !oom_has_other(oom)) {
        return proof;
    }
    keep_first(assumed, proof);
    assumed->other = *oracle_prove(oracle, take_other(assumed, oom), nodes_max, &other);
    if (other.kind == VERDICT_JUSTIFIED) {
        assumed->as_it_is.plan = (struct proof_plan){0};
        return &assumed->as_it_is;
    }
    set_unknown(oom, verdict);
    assumed->proof = (struct proof){.claim = VERDICT_UNKNOWN,
                                    .kind = PROOF_ASSUMED,
                                    .premature_unless = verdict->premature_unless,
                                    .as_it_is = &assumed->as_it_is,
                                    .other = &assumed->other};
    return &assumed->proof;
}
