#include "tests/harness/oracle/small_oom.h"

#include "harness/base/check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Two times of frees and a use that ends before each: which uses have ended depends on how long it
 * waits. */
const struct small_state small_states[SMALL_STATE_COUNT] = {
    {'m', BLOCK_BUFFER, BLOCK_LIVE, 0, 0, 0, 0, false},  /* movable */
    {'h', BLOCK_BUFFER, BLOCK_LIVE, 0, 0, 1, 0, false},  /* held */
    {'u', BLOCK_OUTPUT, BLOCK_LIVE, 10, 0, 0, 0, false}, /* in use, until before the first free */
    {'v', BLOCK_BUFFER, BLOCK_LIVE, 30, 0, 0, 0, false}, /* in use, until before the second */
    {'n', BLOCK_BUFFER, BLOCK_LIVE, DELAY_NEVER, 0, 0, 0, false},  /* in use for ever */
    {'d', BLOCK_BUFFER, BLOCK_DYING, 0, 20, 0, 0, false},          /* a queued free, the first */
    {'e', BLOCK_BUFFER, BLOCK_DYING, 40, 40, 0, 0, false},         /* the second, and a use */
    {'l', BLOCK_BUFFER, BLOCK_DYING, 0, DELAY_NEVER, 0, 0, false}, /* its event is lost */
    {'x', BLOCK_BUFFER, BLOCK_DYING, 0, 0, 1, 0, false}, /* it waits for a reference alone */
    {'w', BLOCK_BUFFER, BLOCK_DYING, 0, 40, 1, 0,
     false}, /* for an event, too: nobody awaits that one */
    {'p', BLOCK_PROGRAM, BLOCK_LIVE, 0, 0, 0, 1, false}, /* idle */
    {'o', BLOCK_PROGRAM, BLOCK_LIVE, 0, 0, 0, 1, true},  /* idle, and the request's own */
    {'g', BLOCK_PROGRAM, BLOCK_LIVE, 0, 0, 1, 1,
     false}, /* idle and held: it does not move, but it may go */
    {'b', BLOCK_PROGRAM, BLOCK_LIVE, 10, 0, 0, 1, false}, /* busy */
    {'c', BLOCK_PROGRAM, BLOCK_LIVE, 30, 0, 0, 2, false}, /* busy for longer, with more stack */
    {'s', BLOCK_PROGRAM, BLOCK_LIVE, 10, 0, 0, 1, true},  /* busy, and the request's own */
    {'y', BLOCK_PROGRAM, BLOCK_LIVE, DELAY_NEVER, 0, 0, 1, false}, /* busy for ever */
    {'z', BLOCK_PROGRAM, BLOCK_LIVE, DELAY_NEVER, 0, 0, 0, false}, /* the same without a stack */
    {'q', BLOCK_PROGRAM, BLOCK_DYING, 20, 20, 0, 2, false},        /* unloaded while it executes */
    {'r', BLOCK_PROGRAM, BLOCK_DYING, DELAY_NEVER, DELAY_NEVER, 0, 1,
     false}, /* the same, and it never ends */
};

const struct small_state *small_state(char letter)
{
    for (size_t i = 0; i < SMALL_STATE_COUNT; i++) {
        if (small_states[i].letter == tolower(letter)) {
            return &small_states[i];
        }
    }
    return NULL;
}

void small_oom_init(struct small_oom *small, const struct oom *like, uint64_t granules)
{
    small->oom = *like;
    small->oom.granule_bytes = SMALL_GRANULE;
    small->oom.capacity_bytes = granules * SMALL_GRANULE;
    small->oom.blocks = small->blocks;
    small->oom.block_count = 0;
    small->oom.request.own_op = OP_NONE;
    if (small->oom.request.align_bytes == 0) {
        small->oom.request.align_bytes = SMALL_GRANULE;
    }
}

void small_oom_add(struct small_oom *small, const struct small_state *state, uint64_t start,
                   uint64_t size)
{
    const size_t index = small->oom.block_count++;
    CHECK(index < SMALL_BLOCKS_MAX);
    CHECK(state != NULL);
    small->letters[index] = state->letter;
    small->blocks[index] = (struct oom_block){
        .address = start * SMALL_GRANULE,
        .size_bytes = size * SMALL_GRANULE,
        .align_bytes = SMALL_GRANULE,
        .stack_bytes = state->stack * SMALL_GRANULE,
        .used_until_ns = state->used_until_ns,
        .freed_at_ns = state->freed_at_ns,
        .op = (uint32_t)index + 100,
        .hold_count = state->hold_count,
        .kind = state->kind,
        .state = state->state,
    };
    if (state->is_own) {
        small->oom.request.own_op = small->blocks[index].op;
    }
}

void small_oom_drop(struct small_oom *small)
{
    const struct oom_block *last = &small->blocks[--small->oom.block_count];
    if (small->oom.request.own_op == last->op) {
        small->oom.request.own_op = OP_NONE;
    }
}

void small_oom_draw(struct small_oom *small, const struct oom *like, const char *drawing)
{
    const size_t length = strlen(drawing);
    small_oom_init(small, like, length);
    size_t end = 0;
    for (size_t i = 0; i < length; i = end) {
        end = i + 1;
        while (end < length && drawing[end] == drawing[i]) {
            end++;
        }
        if (drawing[i] != '.') {
            small_oom_add(small, small_state(drawing[i]), i, end - i);
        }
    }
}

static void print_drawing(const struct small_oom *small, char *text)
{
    const size_t granules = small->oom.capacity_bytes / SMALL_GRANULE;
    CHECK(granules < SMALL_TEXT_BYTES / 2);
    memset(text, '.', granules);
    text[granules] = '\0';
    for (size_t i = 0; i < small->oom.block_count; i++) {
        const size_t start = small->blocks[i].address / SMALL_GRANULE;
        const char letter = i % 2 == 0 ? small->letters[i] : (char)toupper(small->letters[i]);
        memset(text + start, letter, small->blocks[i].size_bytes / SMALL_GRANULE);
    }
}

void small_oom_print(const struct small_oom *small, char text[SMALL_TEXT_BYTES])
{
    char drawing[SMALL_TEXT_BYTES];
    const struct oom *oom = &small->oom;
    print_drawing(small, drawing);
    snprintf(
        text, SMALL_TEXT_BYTES,
        "\"%.256s\": defrag %d, drains %d, evicts %d, program evicts program %d, refused 0x%x; class %d, size "
        "%" PRIu64 ", align %" PRIu64 ", stack %" PRIu64,
        drawing, (int)oom->defrag, oom->drains, oom->evicts, oom->program_evicts_program,
        oom->faults_fired, (int)oom->request.class, oom->request.size_bytes,
        oom->request.align_bytes, oom->request.stack_bytes);
}
