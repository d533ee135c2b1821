#include "checker/private/check.h"

#include <string.h>

static bool is_later(json_int_t time, json_int_t than)
{
    return than != NEVER && (time == NEVER || time > than);
}

/* Returns what is wrong with the block alone; NULL: nothing is. */
static const char *find_impossible(const struct check *check, const struct checked_block *block)
{
    const bool is_dying = !block->is_live;
    const struct {
        bool is_wrong;
        const char *reason;
    } rules[] = {
        {block->is_retired && (is_dying || block->address == IN_HOST_MEMORY || block->holds != 1 ||
                               block->used_until != 0),
         "retired memory is live, in its place, held once and not used"},
        {block->is_program && block->holds > 0, "a program has no holds"},
        {block->is_program && block->align != check->granule,
         "a program is aligned to the granule alone"},
        {is_dying && block->holds == 0 && block->freed_at == 0,
         "it waits for nothing, so it is gone"},
        {is_dying && is_later(block->used_until, block->freed_at),
         "it is used after the time at which it is freed"},
        {is_dying && block->is_program && block->freed_at != block->used_until,
         "an unloaded program waits for its executions alone"},
        {block->is_kept && (block->is_program || block->is_retired || block->holds > 1 ||
                            block->used_until != 0 || block->align != check->granule),
         "what is kept is left by a buffer or output, aligned to the granule and not used"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].is_wrong) {
            return rules[i].reason;
        }
    }
    return NULL;
}

/* Pieces of what one block left; the second one comes later. */
static bool are_of_one_block(const struct check *check, const struct checked_block *block,
                             const struct checked_block *other)
{
    const bool touch = block->address == block[-1].address + block[-1].size &&
                       block->op == block[-1].op;
    return block->is_kept && other->is_kept && check->placement == RANGES && !touch &&
           block->holds == other->holds && block->freed_at == other->freed_at;
}

/* The blocks found so far, by op. */
static void require_own_op(struct check *check, struct checked_block *block)
{
    struct tree_node *around[2];
    tree_find_around(check->places, block->op, around);
    const struct checked_block *other = (const struct checked_block *)around[1];
    if (other != NULL && other->op == block->op) {
        check_require(check, are_of_one_block(check, block, other),
                      "blocks[%zu]: blocks[%zu] was made by the same op",
                      (size_t)(block - check->blocks), (size_t)(other - check->blocks));
        return;
    }
    block->place.key = block->op;
    check->places = tree_put(check->places, &block->place);
}

/* Blocks are by address, so that the first one lies in the stack if any does. */
static void require_free_stacks(struct check *check)
{
    json_int_t reserved = 0;
    for (size_t i = 0; i < check->block_count; i++) {
        const struct checked_block *block = &check->blocks[i];
        reserved = block->used_until != 0 && block->stack > reserved ? block->stack : reserved;
    }
    check_require(check,
                  check->block_count == 0 || check->placement != RANGES ||
                      check->blocks[0].address == IN_HOST_MEMORY ||
                      check->blocks[0].address >= reserved,
                  "blocks[0]: it begins in the stack of a program that is in use");
}

static void require_own_program(struct check *check)
{
    if (check->own_program == NOWHERE) {
        return;
    }
    const struct checked_block *program = &check->blocks[check->own_program];
    check_require(check, program->is_program && program->is_live && program->stack == check->stack,
                  "request: blocks[%lld] is no live program with that stack",
                  (long long)check->own_program);
}

/* Requires what goes with memory that is kept. */
static void require_kept(struct check *check)
{
    bool has_kept = false, has_others = false;
    for (size_t i = 0; i < check->block_count; i++) {
        has_kept = has_kept || check->blocks[i].is_kept;
        has_others = has_others || check->blocks[i].is_program || check->blocks[i].is_retired;
    }
    check_require(check,
                  !has_kept || !(check->moves || check->regions.are_there || has_others ||
                                 !check->for_buffer),
                  "blocks: moves, regions, programs and bad memory do not go with what is kept");
    check_require(check,
                  !has_kept || check->placement == RANGES || strcmp(check->claim, "justified") != 0,
                  "blocks: what is kept proves nothing where it has no address");
}

void possible_require(struct check *check)
{
    for (size_t i = 0; i < check->block_count && check->result == CERTIFICATE_VALID; i++) {
        const char *reason = find_impossible(check, &check->blocks[i]);
        check_require(check, reason == NULL, "blocks[%zu]: %s", i, reason == NULL ? "" : reason);
        require_own_op(check, &check->blocks[i]);
    }
    require_kept(check);
    require_free_stacks(check);
    require_own_program(check);
    check->places = NULL;
}
