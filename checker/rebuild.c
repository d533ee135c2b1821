#include "checker/private/replay.h"

#include <stdlib.h>

/* When the last event is due of those that are not done; 0: all are. */
static uint64_t find_end(const struct checked_replay *replay, const struct held_block *block,
                         bool uses_only)
{
    uint64_t end = 0;
    for (size_t i = block->waits; i != 0; i = replay->waits[i].next) {
        const struct replay_wait *wait = &replay->waits[i];
        const struct replay_event *event = &replay->events[wait->event];
        if (!event->is_done && (wait->is_use || !uses_only) && event->due > end) {
            end = event->due;
        }
    }
    return end;
}

static struct fact_block describe_block(const struct checked_replay *replay, size_t op)
{
    static const char *const kinds[OP_KIND_COUNT] = {[OP_ALLOC] = "buffer",
                                                     [OP_OUTPUT] = "output",
                                                     [OP_DONATE] = "output",
                                                     [OP_LOAD] = "program",
                                                     [OP_RETIRE] = "retired"};
    const struct held_block *block = &replay->blocks[op];
    const bool has_address = replay->promise->placement == 0;
    const bool has_align = has_address && replay->promise->header == 0;
    /* The times are cut to 63 bits when all are known. */
    return (struct fact_block){
        .kind = kinds[block->kind],
        .state = block->is_dying ? "dying" : "live",
        .op = (int64_t)op,
        .address = has_address ? (int64_t)block->address : 0,
        .size = (int64_t)least(least(block->size, block->most), FACT_NUMBER_MAX),
        .align = (int64_t)(has_align ? block->align : replay->promise->granule),
        .stack = (int64_t)block->stack,
        .holds = block->holds,
        .used_until = (int64_t)find_end(replay, block, true),
        .freed_at = block->is_dying ? (int64_t)find_end(replay, block, false) : 0};
}

static bool is_in_document(const struct checked_replay *replay, size_t op)
{
    const struct held_block *block = &replay->blocks[op];
    return block->is_there && !block->is_evicted && !replay_is_gone(replay, block);
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Returns what the document writes for a time; late: all above FACT_NUMBER_MAX, ascending. */
static int64_t rank_time(int64_t time, const uint64_t *late, size_t late_count)
{
    const uint64_t value = (uint64_t)time;
    size_t low = 0, high = late_count;
    if (value <= FACT_NUMBER_MAX || value == NEVER_NS) {
        return time;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (late[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)(FACT_NUMBER_MAX + 1 + low);
}

static bool rank_late_times(struct rebuilt_facts *facts)
{
    uint64_t *late = calloc(2 * facts->block_count + 1, sizeof *late);
    size_t count = 0;
    if (late == NULL) {
        return false;
    }
    for (size_t i = 0; i < facts->block_count; i++) {
        const uint64_t times[] = {(uint64_t)facts->blocks[i].used_until,
                                  (uint64_t)facts->blocks[i].freed_at};
        for (size_t k = 0; k < 2; k++) {
            late[count] = times[k];
            count += times[k] > FACT_NUMBER_MAX && times[k] != NEVER_NS;
        }
    }
    qsort(late, count, sizeof *late, compare_times);
    for (size_t i = 0; i < facts->block_count; i++) {
        struct fact_block *block = &facts->blocks[i];
        block->used_until = rank_time(block->used_until, late, count);
        block->freed_at = rank_time(block->freed_at, late, count);
    }
    free(late);
    return true;
}

/* Describes what the block left, all of it. */
static struct fact_block describe_left(const struct checked_replay *replay, size_t op)
{
    const struct held_block *block = &replay->blocks[op];
    struct fact_block left = describe_block(replay, op);
    left.state = "kept";
    left.size = (int64_t)block->size;
    left.align = (int64_t)replay->promise->granule;
    left.holds = replay_is_recorded(replay, block) && block->recording != replay->open_recording;
    left.used_until = 0;
    return left;
}

static void collect_kept(const struct checked_replay *replay, size_t request,
                         struct replay_kept *kept)
{
    for (size_t i = 0; i <= request; i++) {
        const struct held_block *block = &replay->blocks[i];
        const bool has_place = block->address != IN_HOST_MEMORY_ADDRESS;
        if (has_place && is_in_document(replay, i)) {
            kept->taken[kept->taken_count++] = (struct kept_taken){block->address, block->size};
        }
        if (has_place && replay_is_kept(replay, block, request)) {
            kept->left[kept->left_count++] = describe_left(replay, i);
        }
    }
}

/* Without addresses, a piece is all that a block left. */
static bool cut_kept(const struct checked_replay *replay, struct replay_kept *kept)
{
    if (replay->promise->placement == 0) {
        return kept_cut(kept);
    }
    kept->pieces = kept->left;
    kept->piece_count = kept->left_count;
    kept->left = NULL;
    return true;
}

static int compare_facts(const void *left, const void *right)
{
    const struct fact_block *a = left, *b = right;
    return a->op != b->op ? (a->op > b->op) - (a->op < b->op)
                          : (a->address > b->address) - (a->address < b->address);
}

/* The blocks that are there and the pieces of what is kept. */
static bool join_blocks(const struct checked_replay *replay, size_t request,
                        const struct replay_kept *kept, struct rebuilt_facts *facts)
{
    for (size_t i = 0; i <= request; i++) {
        facts->block_count += is_in_document(replay, i);
    }
    facts->blocks = calloc(facts->block_count + kept->piece_count + 1, sizeof *facts->blocks);
    if (facts->blocks == NULL) {
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i <= request; i++) {
        if (is_in_document(replay, i)) {
            facts->blocks[count++] = describe_block(replay, i);
        }
    }
    for (size_t i = 0; i < kept->piece_count; i++) {
        facts->blocks[count++] = kept->pieces[i];
    }
    facts->block_count = count;
    qsort(facts->blocks, count, sizeof *facts->blocks, compare_facts);
    return rank_late_times(facts);
}

static bool describe_blocks(const struct checked_replay *replay, size_t request,
                            struct rebuilt_facts *facts)
{
    struct replay_kept kept = {.taken = calloc(request + 1, sizeof *kept.taken),
                               .left = calloc(request + 1, sizeof *kept.left)};
    bool is_good = kept.taken != NULL && kept.left != NULL;
    if (is_good && !facts->hides_kept) {
        collect_kept(replay, request, &kept);
        is_good = cut_kept(replay, &kept);
    }
    is_good = is_good && join_blocks(replay, request, &kept, facts);
    free(kept.taken);
    free(kept.left);
    free(kept.pieces);
    return is_good;
}

struct fact_request request_of_op(const struct list *list, size_t number, uint64_t granule,
                                  const struct rounding *rounding)
{
    const struct list_op *op = &list->ops[number];
    const struct list_op *load = op->kind == OP_EXECUTE ? &list->ops[op->ref] : op;
    const bool is_buffer = op->kind == OP_ALLOC || op->kind == OP_OUTPUT;
    return (struct fact_request){
        .class = is_buffer ? "buffer" : "program",
        .bytes = (int64_t)least(rounding_needed(rounding, granule, load->size), FACT_NUMBER_MAX),
        .align = (int64_t)(op->align > granule ? op->align : granule),
        .stack = round_stack(load->stack, granule),
        .program = NO_OP};
}

static bool describe_request(struct checked_replay *replay, size_t number,
                             struct rebuilt_facts *facts)
{
    const struct list_op *op = &replay->list->ops[number];
    facts->request = request_of_op(replay->list, number, replay->promise->granule,
                                   &replay->promise->rounding);
    if (op->kind != OP_EXECUTE) {
        return true;
    }
    const struct held_block *program = &replay->blocks[op->ref];
    if (!program->is_there || replay_is_gone(replay, program)) {
        return replay_fail(replay, "observations: the program of op %zu is not there", number);
    }
    if (!program->is_evicted) {
        facts->request.bytes = 0;
        facts->request.program = op->ref;
    }
    return true;
}

static bool run_lines(struct checked_replay *replay, size_t op, struct rebuilt_facts *facts)
{
    bool is_good = true;
    for (size_t i = 0; is_good && i <= op; i++) {
        is_good = replay_take_line(replay, i, replay->list->ops[op].host);
    }
    return is_good && describe_request(replay, op, facts);
}

enum certificate_result facts_rebuild(const struct certificate_history *history, size_t op,
                                      struct rebuilt_facts *facts,
                                      char reason[CERTIFICATE_REASON_BYTES])
{
    struct checked_replay replay = {.list = &history->list,
                                    .log = &history->log,
                                    .promise = &history->log.promises[history->list.ops[op].host],
                                    .blocks = calloc(op + 1, sizeof *replay.blocks),
                                    .events = calloc(op + 1, sizeof *replay.events),
                                    .waits = calloc(2 * (op + 2), sizeof *replay.waits),
                                    .recordings = calloc(op + 1, sizeof *replay.recordings),
                                    .open_recording = NO_OP,
                                    .reason = reason};
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    *facts = (struct rebuilt_facts){.hides_kept = facts->hides_kept};
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        replay.last_events[i] = NO_OP;
    }
    replay_fail(&replay, "no memory");
    if (replay.blocks != NULL && replay.events != NULL && replay.waits != NULL &&
        replay.recordings != NULL) {
        result = !run_lines(&replay, op, facts)        ? CERTIFICATE_REFUTED
                 : describe_blocks(&replay, op, facts) ? CERTIFICATE_VALID
                                                       : CERTIFICATE_UNREADABLE;
    }
    facts->regions = replay.regions;
    free(replay.blocks);
    free(replay.events);
    free(replay.waits);
    free(replay.recordings);
    return result;
}
