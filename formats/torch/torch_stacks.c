/* The frames of a snapshot as stacks: what many events share is looked at once. */
#include "formats/torch/private/torch.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_COUNT_MAX = 512 }; /* of a stack that are looked at */

void torch_stacks_deinit(struct torch_stacks *stacks)
{
    free(stacks->known);
    *stacks = (struct torch_stacks){0};
}

/* Room for what is known of each box. */
static void make_known(struct torch_stacks *stacks, const struct plain_tree *tree)
{
    if (stacks->known == NULL) {
        stacks->known_count = tree->box_count;
        stacks->known = calloc(stacks->known_count, sizeof *stacks->known);
        CHECK(stacks->known != NULL);
    }
    CHECK(stacks->known_count == tree->box_count);
}

/* TORCH_NO_FRAME: it is left out. */
static uint32_t number_frame(struct torch_stacks *stacks, const struct plain_tree *tree,
                             struct plain_value frame)
{
    if (frame.kind != PLAIN_DICT) {
        return TORCH_NO_FRAME;
    }
    uint32_t *known = &stacks->known[frame.payload];
    if (*known == 0) {
        char text[SETUP_NAME_BYTES];
        torch_print_frame(tree, frame, text);
        *known = torch_is_plumbing(tree, frame)
                     ? TORCH_NO_FRAME
                     : 1 + stacks_frame(stacks->stacks, text, strlen(text));
    }
    return *known == TORCH_NO_FRAME ? TORCH_NO_FRAME : *known - 1;
}

static uint32_t add_stack(struct torch_stacks *stacks, const struct plain_tree *tree,
                          struct plain_value frames)
{
    uint32_t numbers[STACKS_DEPTH_MAX];
    const size_t all = plain_count(tree, frames);
    size_t count = 0;
    bool has_more = all > FRAME_COUNT_MAX;
    for (size_t i = 0; i < all && i < FRAME_COUNT_MAX; i++) {
        const uint32_t number = number_frame(stacks, tree, plain_at(tree, frames, i));
        if (number == TORCH_NO_FRAME) {
            continue;
        }
        if (count == STACKS_DEPTH_MAX) {
            has_more = true;
            break;
        }
        numbers[count++] = number;
    }
    return stacks_add(stacks->stacks, numbers, count, has_more);
}

uint32_t torch_stack_of(struct torch_stacks *stacks, const struct plain_tree *tree,
                        struct plain_value frames)
{
    if (stacks->stacks == NULL || frames.kind != PLAIN_LIST || plain_count(tree, frames) == 0) {
        return STACKS_NONE;
    }
    make_known(stacks, tree);
    uint32_t *known = &stacks->known[frames.payload];
    if (*known == 0) {
        *known = 1 + add_stack(stacks, tree, frames);
    }
    return *known - 1;
}
