#include <string.h>

#include "allocator/check.h"
#include "allocator/sort.h"
#include "allocator/state.h"

/* In general a move may start once every other block has left its destination.  Each block counts those in its
 * way; a block that leaves tells the ones that wait for its place.  When all wait for each other,
 * the smallest goes to the host, which frees its place. */

enum move_state {
    MOVE_WAITING,
    MOVE_STAGED, /* contents on the host */
    MOVE_DONE,
};

struct move {
    uint64_t from;
    uint64_t to;
    uint64_t size_bytes;
    uint32_t block;
    uint32_t in_way; /* other blocks still at its destination */
    enum move_state state;
    struct hbm_stranded *stranded; /* while staged */
};

struct moving {
    struct hbm *hbm;
    struct move *moves;  /* [count], ordered by from */
    uint32_t *by_target; /* [count], ordered by to */
    uint32_t *ready;     /* [count], a stack */
    uint32_t *blocks;    /* [item_count], for the relink */
    size_t count;
    size_t ready_count;
    size_t done_count;
};

static int target_is_lower(const void *context, uint32_t left, uint32_t right)
{
    const struct move *moves = context;
    return moves[left].to < moves[right].to;
}

static int address_is_lower(const void *context, uint32_t left, uint32_t right)
{
    const struct hbm_heap *heap = context;
    return hbm_heap_at(heap, left)->address < hbm_heap_at(heap, right)->address;
}

/* The first move that ends above `address`, in order of from (by_target false) or of to. */
static size_t first_above(const struct moving *moving, uint64_t address, bool by_target)
{
    size_t low = 0, high = moving->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct move *move = &moving->moves[by_target ? moving->by_target[middle] : middle];
        if ((by_target ? move->to : move->from) + move->size_bytes > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void ways_count(struct moving *moving)
{
    for (uint32_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        uint64_t end = move->to + move->size_bytes;
        for (size_t k = first_above(moving, move->to, false); k < moving->count && moving->moves[k].from < end; k++)
            move->in_way += k != i;
        if (move->in_way == 0)
            moving->ready[moving->ready_count++] = i;
    }
}

static void place_left(struct moving *moving, uint32_t index)
{
    const struct move *left = &moving->moves[index];
    uint64_t end = left->from + left->size_bytes;
    for (size_t k = first_above(moving, left->from, true); k < moving->count; k++) {
        struct move *move = &moving->moves[moving->by_target[k]];
        if (move->to >= end)
            break;
        if (move == left)
            continue;
        HBM_CHECK(move->in_way != 0);
        if (--move->in_way == 0)
            moving->ready[moving->ready_count++] = moving->by_target[k];
    }
}

static bool move_finish(struct moving *moving, uint32_t index)
{
    struct move *move = &moving->moves[index];
    const struct hbm_services *services = &moving->hbm->host.services;
    bool was_staged = move->state == MOVE_STAGED;
    enum hbm_service_result result =
        was_staged ? services->stage_in(services->context, move->stranded->token, move->to, move->size_bytes)
                   : services->copy(services->context, move->from, move->to, move->size_bytes);
    if (result != HBM_SERVICE_OK)
        return false;
    if (was_staged)
        hbm_host_free(&moving->hbm->host, move->stranded, 1, sizeof *move->stranded);
    move->state = MOVE_DONE;
    moving->done_count++;
    moving->hbm->totals.blocks_moved++;
    moving->hbm->totals.bytes_moved += move->size_bytes;
    return true;
}

static bool smallest_stage(struct moving *moving)
{
    struct move *smallest = NULL;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        if (move->state == MOVE_WAITING && (smallest == NULL || move->size_bytes < smallest->size_bytes))
            smallest = move;
    }
    HBM_CHECK(smallest != NULL);
    const struct hbm_services *services = &moving->hbm->host.services;
    struct hbm_stranded *stranded = hbm_host_array(&moving->hbm->host, 1, sizeof *stranded);
    if (stranded == NULL)
        return false;
    *stranded = (struct hbm_stranded){.block = smallest->block};
    if (services->stage_out(services->context, smallest->from, smallest->size_bytes, &stranded->token) !=
        HBM_SERVICE_OK) {
        hbm_host_free(&moving->hbm->host, stranded, 1, sizeof *stranded);
        return false;
    }
    smallest->state = MOVE_STAGED;
    smallest->stranded = stranded;
    place_left(moving, (uint32_t)(smallest - moving->moves));
    return true;
}

/* When the plan keeps the order of all blocks, so does each moment on the way, and nothing is ever in
 * the way: what goes up goes from the top one down, then what goes down from the bottom one up. */
static bool moves_in_order(struct moving *moving)
{
    for (size_t i = moving->count; i-- > 0;) {
        if (moving->moves[i].to > moving->moves[i].from && !move_finish(moving, (uint32_t)i))
            return false;
    }
    for (size_t i = 0; i < moving->count; i++) {
        if (moving->moves[i].to < moving->moves[i].from && !move_finish(moving, (uint32_t)i))
            return false;
    }
    return true;
}

static bool order_is_kept(const struct hbm_plan *plan)
{
    for (size_t i = 1; i < plan->item_count; i++) {
        if (plan->items[i].target <= plan->items[i - 1].target)
            return false;
    }
    return true;
}

static bool moves_any_order(struct moving *moving)
{
    hbm_sort(moving->by_target, moving->count, target_is_lower, moving->moves);
    ways_count(moving);
    while (moving->done_count < moving->count) {
        if (moving->ready_count == 0) {
            if (!smallest_stage(moving))
                return false;
            continue;
        }
        uint32_t index = moving->ready[--moving->ready_count];
        bool in_place = moving->moves[index].state == MOVE_WAITING;
        if (!move_finish(moving, index))
            return false;
        if (in_place)
            place_left(moving, index);
    }
    return true;
}

/* Whether no other block of the plan lies there now; blocks that keep their place never do. */
static bool place_is_free(const struct moving *moving, const struct move *returning, uint64_t address)
{
    for (size_t i = 0; i < moving->count; i++) {
        const struct move *other = &moving->moves[i];
        uint64_t place = other->state == MOVE_DONE ? other->to : other->from;
        if (other != returning && other->state != MOVE_STAGED && place < address + returning->size_bytes &&
            address < place + other->size_bytes)
            return false;
    }
    return true;
}

/* Moves that stopped half-way leave blocks on the host.  Each goes back to where it was, or else to where it
 * should go: any other hole might be the only one that suits another of them. */
static void staged_return(struct moving *moving)
{
    const struct hbm_services *services = &moving->hbm->host.services;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        if (move->state != MOVE_STAGED)
            continue;
        uint64_t address = place_is_free(moving, move, move->from) ? move->from : move->to;
        if (!place_is_free(moving, move, address) ||
            services->stage_in(services->context, move->stranded->token, address, move->size_bytes) != HBM_SERVICE_OK)
            continue;
        hbm_host_free(&moving->hbm->host, move->stranded, 1, sizeof *move->stranded);
        move->to = address;
        move->state = MOVE_DONE;
    }
}

/* Writes the new addresses into the blocks, and links all ranges anew. */
static void moves_commit(struct moving *moving, const struct hbm_plan *plan)
{
    struct hbm_heap *heap = &moving->hbm->heap;
    size_t placed_count = 0;
    for (size_t i = 0; i < moving->count; i++) {
        struct move *move = &moving->moves[i];
        if (move->state == MOVE_DONE)
            hbm_heap_at(heap, move->block)->address = move->to;
        if (move->state != MOVE_STAGED)
            continue;
        move->stranded->next = moving->hbm->stranded;
        moving->hbm->stranded = move->stranded;
        hbm_heap_at(heap, move->block)->address = HBM_ADDRESS_NONE;
    }
    for (size_t i = 0; i < plan->item_count; i++) {
        if (hbm_heap_at(heap, plan->items[i].block)->address != HBM_ADDRESS_NONE)
            moving->blocks[placed_count++] = plan->items[i].block;
    }
    hbm_sort(moving->blocks, placed_count, address_is_lower, heap);
    hbm_heap_relink(heap, moving->blocks, placed_count);
    for (size_t i = 0; i < moving->count; i++) {
        if (moving->moves[i].state == MOVE_STAGED)
            hbm_heap_strand(heap, moving->moves[i].block);
    }
    if (moving->hbm->stranded != NULL)
        hbm_stranded_retry(moving->hbm);
}

static bool moving_run(struct moving *moving, const struct hbm_plan *plan)
{
    for (size_t i = 0; i < plan->item_count; i++) {
        const struct hbm_item *item = &plan->items[i];
        if (item->target == item->address)
            continue;
        HBM_CHECK(item->movable);
        moving->by_target[moving->count] = (uint32_t)moving->count;
        moving->moves[moving->count++] = (struct move){
            .from = item->address, .to = item->target, .size_bytes = item->size_bytes, .block = item->block};
    }
    if (moving->count == 0)
        return true;
    bool all = order_is_kept(plan) ? moves_in_order(moving) : moves_any_order(moving);
    staged_return(moving);
    moves_commit(moving, plan);
    return all;
}

bool hbm_moves_run(struct hbm *hbm, const struct hbm_plan *plan)
{
    size_t count = plan->item_count;
    if (count == 0)
        return true;
    size_t element_bytes = sizeof(struct move) + 3 * sizeof(uint32_t);
    if (!hbm_heap_relink_reserve(&hbm->heap, count))
        return false;
    char *memory = hbm_host_array(&hbm->host, count, element_bytes);
    if (memory == NULL)
        return false;
    struct moving moving = {.hbm = hbm, .moves = (void *)memory};
    moving.by_target = (void *)(memory + count * sizeof(struct move));
    moving.ready = moving.by_target + count;
    moving.blocks = moving.ready + count;
    bool all = moving_run(&moving, plan);
    hbm_host_free(&hbm->host, memory, count, element_bytes);
    return all;
}

/* ---- snapshots ---- */

static bool item_is_evictable(const struct hbm_call *evicting, const struct hbm_block *block)
{
    return evicting != NULL && block->role == HBM_ROLE_PROGRAM && !block->dying &&
           hbm_call_may_evict(evicting, block->used.program);
}

bool hbm_snapshot(struct hbm *hbm, const struct hbm_call *evicting, struct hbm_plan *plan)
{
    const struct hbm_heap *heap = &hbm->heap;
    plan->items = NULL;
    plan->item_count = 0;
    plan->item_room = heap->used_count;
    if (heap->used_count != 0) {
        plan->items = hbm_host_array(&hbm->host, heap->used_count, sizeof *plan->items);
        if (plan->items == NULL)
            return false;
    }
    for (uint32_t number = hbm_heap_at(heap, heap->stack)->next; number != HBM_POOL_NONE;) {
        const struct hbm_block *block = hbm_heap_at(heap, number);
        if (block->role != HBM_ROLE_HOLE && !item_is_evictable(evicting, block)) {
            plan->items[plan->item_count++] = (struct hbm_item){
                .address = block->address, .target = block->address, .size_bytes = block->size_bytes,
                .block = number, .align_shift = block->align_shift, .movable = hbm_block_is_movable(block)};
        }
        number = block->next;
    }
    return true;
}

void hbm_snapshot_free(struct hbm *hbm, struct hbm_plan *plan)
{
    hbm_host_free(&hbm->host, plan->items, plan->item_room, sizeof *plan->items);
    plan->items = NULL;
}
