#include "allocator/private/moves.h"

#include "allocator/private/heap.h"

/* True if a call is to be made again; a device that never ends counts as one that refused. */
static bool is_call_repeated(enum hbm_service_result result, unsigned *calls)
{
    return result == HBM_SERVICE_PARTIAL && ++*calls < HBM_PARTIAL_CALLS_MAX;
}

bool hbm_resume_copy(const struct hbm_services *services, uint64_t from, uint64_t to,
                     uint64_t bytes)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->copy(services->context, from, to, bytes);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}

bool hbm_resume_stage_in(const struct hbm_services *services, uint64_t token, uint64_t to,
                         uint64_t bytes)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->stage_in(services->context, token, to, bytes);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}

bool hbm_resume_unload(const struct hbm_services *services, uint64_t program_id)
{
    enum hbm_service_result result;
    unsigned calls = 0;
    do {
        result = services->unload(services->context, program_id);
    } while (is_call_repeated(result, &calls));
    return result == HBM_SERVICE_OK;
}

/* In general a move may start once every other block has left its destination.  Each block counts
 * those in its way; a block that leaves tells the ones that wait for its place.  When all wait for
 * each other, the smallest leaves: to a hole that the plan does not touch, or, where none is large
 * enough, to the host. */

/* A refused step is tried this often in a row while a block is on the host, because the way forward
 * is also its way back. */
#define TRIES_MAX 3

enum move_state {
    MOVE_WAITING,
    MOVE_PARKED, /* in a hole that the plan does not touch */
    MOVE_STAGED, /* contents on the host */
    MOVE_DONE,
};

struct move {
    uint64_t from; /* where it is, or was before it was staged or done */
    uint64_t to;
    uint64_t size_bytes;
    uint32_t block;
    uint32_t in_way; /* other blocks still at its destination */
    enum move_state state;
    bool has_range;                /* while staged: `from` is kept for it */
    struct hbm_stranded *stranded; /* while staged */
};

struct moving {
    struct hbm *hbm;
    const struct hbm_plan *plan;
    struct move *moves;  /* [count], at first ordered by from */
    uint32_t *by_target; /* [count], ordered by to */
    uint32_t *ready;     /* [count], a stack */
    uint32_t *blocks;    /* [item_count], for the relink */
    size_t count;
    size_t ready_count;
    size_t done_count;
    size_t staged_count;
    bool keeps_order; /* of all blocks, at each moment */
};

static bool is_target_lower(const void *context, uint32_t left, uint32_t right)
{
    const struct move *moves = context;
    return moves[left].to < moves[right].to;
}

static bool is_address_lower(const void *context, uint32_t left, uint32_t right)
{
    const struct hbm_heap *heap = context;
    return hbm_heap_at(heap, left)->address < hbm_heap_at(heap, right)->address;
}

/* The first move that ends above `address`, in order of from (by_target false) or of to. */
static size_t find_first_above(const struct moving *moving, uint64_t address, bool by_target)
{
    size_t low = 0, high = moving->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct move *move = &moving->moves[by_target ? moving->by_target[middle] : middle];
        if ((by_target ? move->to : move->from) + move->size_bytes > address) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

static void count_blocks_in_way(struct moving *moving)
{
    HBM_CHECK(moving->ready_count == 0);
    for (uint32_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        const uint64_t end = move->to + move->size_bytes;
        for (size_t k = find_first_above(moving, move->to, false);
             k < moving->count && moving->moves[k].from < end; k++) {
            move->in_way += k != i;
        }
        if (move->in_way == 0) {
            moving->ready[moving->ready_count++] = i;
        }
    }
    HBM_CHECK(moving->ready_count <= moving->count);
}

static void note_place_left(struct moving *moving, uint32_t index)
{
    const struct move *left = &moving->moves[index];
    const uint64_t end = left->from + left->size_bytes;
    for (size_t k = find_first_above(moving, left->from, true); k < moving->count; k++) {
        struct move *move = &moving->moves[moving->by_target[k]];
        if (move->to >= end) {
            break;
        }
        if (move == left) {
            continue;
        }
        HBM_CHECK(move->in_way != 0);
        if (--move->in_way == 0) {
            HBM_CHECK(moving->ready_count < moving->count);
            moving->ready[moving->ready_count++] = moving->by_target[k];
        }
    }
}

static bool copy_block(struct moving *moving, const struct move *move, uint64_t to)
{
    HBM_CHECK(move->size_bytes != 0);
    HBM_CHECK(move->from != to);
    struct hbm_stats *totals = &moving->hbm->totals;
    if (!hbm_resume_copy(&moving->hbm->host.services, move->from, to, move->size_bytes)) {
        return false;
    }
    totals->blocks_moved++;
    totals->bytes_moved += move->size_bytes;
    return true;
}

/* Ends what staging began: the contents are at `address` again. */
static void unstage_move(struct moving *moving, struct move *move, uint64_t address)
{
    HBM_CHECK(move->state == MOVE_STAGED);
    HBM_CHECK(move->stranded != NULL);
    HBM_CHECK(moving->staged_count != 0);
    hbm_host_free(&moving->hbm->host, move->stranded, 1, sizeof *move->stranded);
    moving->staged_count--;
    move->from = address;
    move->state = MOVE_WAITING;
}

static bool stage_block_in(struct moving *moving, struct move *move, uint64_t address)
{
    HBM_CHECK(move->state == MOVE_STAGED);
    HBM_CHECK(move->stranded != NULL);
    const struct hbm_services *services = &moving->hbm->host.services;
    if (!hbm_resume_stage_in(services, move->stranded->token, address, move->size_bytes)) {
        return false;
    }
    moving->hbm->totals.blocks_moved++;
    moving->hbm->totals.bytes_moved += move->size_bytes;
    unstage_move(moving, move, address);
    return true;
}

static bool finish_move(struct moving *moving, uint32_t index)
{
    struct move *move = &moving->moves[index];
    HBM_CHECK(move->state != MOVE_DONE);
    const bool moved = move->state == MOVE_STAGED ? stage_block_in(moving, move, move->to)
                                                  : copy_block(moving, move, move->to);
    if (!moved) {
        return false;
    }
    move->state = MOVE_DONE;
    moving->done_count++;
    HBM_CHECK(moving->done_count <= moving->count);
    return true;
}

/* ---- where all wait for each other ---- */

static bool can_park_in_gap(const struct moving *moving, const struct move *move, uint64_t low,
                            uint64_t high, uint64_t *address)
{
    if (high < low || high - low < move->size_bytes) {
        return false;
    }
    const uint64_t place = hbm_align_down(
        high - move->size_bytes, hbm_heap_at(&moving->hbm->heap, move->block)->align_shift);
    for (size_t i = 0; i < moving->count && place >= low; i++) {
        const struct move *other = &moving->moves[i];
        if (other->state == MOVE_PARKED && other->from < high &&
            low < other->from + other->size_bytes) {
            return false;
        }
    }
    *address = place;
    return place >= low;
}

/* A place for the block where the plan finds nothing, leaves nothing, and puts nothing. */
static bool find_parking(const struct moving *moving, const struct move *move, uint64_t *address)
{
    const struct hbm_plan *plan = moving->plan;
    uint64_t low = plan->demand.stack_bytes;
    for (size_t i = 0, k = 0; i < plan->item_count || k < moving->count;) {
        const struct hbm_item *item = i < plan->item_count ? &plan->items[i] : NULL;
        const struct move *target = k < moving->count ? &moving->moves[moving->by_target[k]] : NULL;
        const bool item_first = target == NULL || (item != NULL && item->address <= target->to);
        const uint64_t start = item_first ? item->address : target->to;
        const uint64_t end = start + (item_first ? item->size_bytes : target->size_bytes);
        if (can_park_in_gap(moving, move, low, start, address)) {
            return true;
        }
        low = end > low ? end : low;
        i += item_first;
        k += !item_first;
    }
    return can_park_in_gap(moving, move, low, plan->capacity_bytes, address);
}

static bool stage_block_out(struct moving *moving, struct move *move)
{
    HBM_CHECK(move->state == MOVE_WAITING);
    const struct hbm_services *services = &moving->hbm->host.services;
    struct hbm_stranded *stranded = hbm_host_array(&moving->hbm->host, 1, sizeof *stranded);
    if (stranded == NULL) {
        return false;
    }
    *stranded = (struct hbm_stranded){.block = move->block};
    if (services->stage_out(services->context, move->from, move->size_bytes, &stranded->token) !=
        HBM_SERVICE_OK) {
        hbm_host_free(&moving->hbm->host, stranded, 1, sizeof *stranded);
        return false;
    }
    move->state = MOVE_STAGED;
    move->stranded = stranded;
    moving->staged_count++;
    HBM_CHECK(moving->staged_count <= moving->count);
    return true;
}

static bool make_smallest_leave(struct moving *moving)
{
    HBM_CHECK(moving->ready_count == 0);
    HBM_CHECK(moving->done_count < moving->count);
    struct move *smallest = NULL;
    uint64_t address;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        if (move->state == MOVE_WAITING &&
            (smallest == NULL || move->size_bytes < smallest->size_bytes)) {
            smallest = move;
        }
    }
    HBM_CHECK(smallest != NULL);
    const bool parks = find_parking(moving, smallest, &address);
    if (!(parks ? copy_block(moving, smallest, address) : stage_block_out(moving, smallest))) {
        return false;
    }
    note_place_left(moving, (uint32_t)(smallest - moving->moves));
    if (!parks) {
        return true;
    }
    smallest->from = address;
    smallest->state = MOVE_PARKED;
    return true;
}

/* When the plan keeps the order of all blocks, so does each moment on the way, and nothing is ever
 * in the way: what goes up goes from the top one down, then what goes down from the bottom one up.
 */
static bool run_moves_in_order(struct moving *moving)
{
    for (size_t i = moving->count; i-- > 0;) {
        if (moving->moves[i].to > moving->moves[i].from && !finish_move(moving, (uint32_t)i)) {
            return false;
        }
    }
    for (size_t i = 0; i < moving->count; i++) {
        if (moving->moves[i].to < moving->moves[i].from && !finish_move(moving, (uint32_t)i)) {
            return false;
        }
    }
    HBM_CHECK(moving->done_count == moving->count);
    return true;
}

static bool is_order_kept(const struct hbm_plan *plan)
{
    for (size_t i = 1; i < plan->item_count; i++) {
        if (plan->items[i].target <= plan->items[i - 1].target) {
            return false;
        }
    }
    return true;
}

static bool run_next_move(struct moving *moving)
{
    if (moving->ready_count == 0) {
        return make_smallest_leave(moving);
    }
    const uint32_t index = moving->ready[moving->ready_count - 1];
    HBM_CHECK(moving->moves[index].in_way == 0);
    HBM_CHECK(index < moving->count);
    const bool in_place = moving->moves[index].state == MOVE_WAITING;
    if (!finish_move(moving, index)) {
        return false;
    }
    moving->ready_count--;
    if (in_place) {
        note_place_left(moving, index);
    }
    return true;
}

static bool run_moves_any_order(struct moving *moving)
{
    hbm_sort(moving->by_target, moving->count, is_target_lower, moving->moves);
    count_blocks_in_way(moving);
    for (unsigned tries = 0; moving->done_count < moving->count;) {
        tries = run_next_move(moving) ? 0 : tries + 1;
        if (tries == TRIES_MAX || (tries != 0 && moving->staged_count == 0)) {
            return false;
        }
    }
    HBM_CHECK(moving->staged_count == 0);
    return true;
}

/* True if no other block of the plan lies there now; blocks that keep their place never do. */
static bool is_place_free(const struct moving *moving, const struct move *returning,
                          uint64_t address)
{
    for (size_t i = 0; i < moving->count; i++) {
        const struct move *other = &moving->moves[i];
        const uint64_t place = other->state == MOVE_DONE ? other->to : other->from;
        const bool is_there = other->state != MOVE_STAGED || other->has_range;
        if (other != returning && is_there && place < address + returning->size_bytes &&
            address < place + other->size_bytes) {
            return false;
        }
    }
    return true;
}

/* Moves that stopped half-way leave blocks on the host.  Where nothing was written over the old
 * place the contents are still there; else they go to where they should: any other hole might be
 * the only one that suits another of them. */
static void return_staged_blocks(struct moving *moving)
{
    const struct hbm_services *services = &moving->hbm->host.services;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        if (move->state != MOVE_STAGED) {
            continue;
        }
        HBM_CHECK(move->stranded != NULL);
        HBM_CHECK(!move->has_range);
        if (is_place_free(moving, move, move->from)) {
            services->stage_drop(services->context, move->stranded->token);
            unstage_move(moving, move, move->from);
        } else if (is_place_free(moving, move, move->to)) {
            move->from = move->to;
            move->has_range = true;
            (void)stage_block_in(moving, move, move->to);
        }
    }
}

/* A block that could not come back from the host: whatever range it has is kept for it. */
static void strand_block(struct moving *moving, struct move *move)
{
    HBM_CHECK(move->state == MOVE_STAGED);
    HBM_CHECK(move->stranded != NULL);
    struct hbm_block *block = hbm_heap_at(&moving->hbm->heap, move->block);
    move->stranded->next = moving->hbm->stranded;
    moving->hbm->stranded = move->stranded;
    block->place = HBM_PLACE_HOST;
    if (!move->has_range) {
        block->address = HBM_ADDRESS_NONE;
    }
}

/* Writes the new addresses into the blocks, and links all ranges anew. */
static void commit_moves(struct moving *moving)
{
    const struct hbm_plan *plan = moving->plan;
    struct hbm_heap *heap = &moving->hbm->heap;
    size_t placed_count = 0;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        hbm_heap_at(heap, move->block)->address = move->state == MOVE_DONE ? move->to : move->from;
        if (move->state == MOVE_STAGED) {
            strand_block(moving, move);
        }
    }
    for (size_t i = 0; i < plan->item_count; i++) {
        if (hbm_heap_at(heap, plan->items[i].block)->address != HBM_ADDRESS_NONE) {
            moving->blocks[placed_count++] = plan->items[i].block;
        }
    }
    HBM_CHECK(placed_count <= plan->item_count);
    if (!moving->keeps_order) {
        hbm_sort(moving->blocks, placed_count, is_address_lower, heap);
    }
    hbm_heap_relink(heap, moving->blocks, placed_count);
    for (size_t i = 0; i < moving->count; i++) {
        const struct move *move = &moving->moves[i];
        if (move->state != MOVE_STAGED || move->has_range) {
            continue;
        }
        hbm_heap_strand(heap, move->block);
        HBM_CHECK(hbm_heap_at(heap, move->block)->address == HBM_ADDRESS_NONE);
        (void)hbm_heap_return(heap, move->block);
    }
}

static bool run_moving(struct moving *moving)
{
    const struct hbm_plan *plan = moving->plan;
    for (size_t i = 0; i < plan->item_count; i++) {
        const struct hbm_item *item = &plan->items[i];
        if (item->target == item->address) {
            continue;
        }
        HBM_CHECK(item->movable);
        moving->by_target[moving->count] = (uint32_t)moving->count;
        moving->moves[moving->count++] = (struct move){.from = item->address,
                                                       .to = item->target,
                                                       .size_bytes = item->size_bytes,
                                                       .block = item->block};
    }
    HBM_CHECK(moving->count <= plan->item_count);
    if (moving->count == 0) {
        return true;
    }
    moving->keeps_order = is_order_kept(plan);
    const bool all = moving->keeps_order ? run_moves_in_order(moving) : run_moves_any_order(moving);
    HBM_CHECK(!all || moving->done_count == moving->count);
    return_staged_blocks(moving);
    commit_moves(moving);
    return all;
}

bool hbm_moves_run(struct hbm *hbm, const struct hbm_plan *plan)
{
    const size_t count = plan->item_count;
    if (count == 0) {
        return true;
    }
    HBM_CHECK(plan->items != NULL);
    HBM_CHECK(count <= hbm->heap.used_count);
    const size_t element_bytes = sizeof(struct move) + 3 * sizeof(uint32_t);
    if (!hbm_heap_relink_reserve(&hbm->heap, count)) {
        return false;
    }
    char *memory = hbm_host_array(&hbm->host, count, element_bytes);
    if (memory == NULL) {
        return false;
    }
    struct moving moving = {.hbm = hbm, .plan = plan, .moves = (void *)memory};
    moving.by_target = (void *)(memory + count * sizeof(struct move));
    moving.ready = moving.by_target + count;
    moving.blocks = moving.ready + count;
    const bool all = run_moving(&moving);
    hbm->room_count++;
    hbm_host_free(&hbm->host, memory, count, element_bytes);
    return all;
}
