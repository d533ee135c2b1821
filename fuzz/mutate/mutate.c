#include "fuzz/mutate/mutate.h"

#include "fuzz/mutate/mutate_edit.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    EDITS_MAX = 4,       /* for one change: each one more is half as likely */
    TRIES_MAX = 16,      /* edits drawn until one applies */
    EDIT_COUNT_MAX = 64, /* rows of all tables */
};

struct mutator {
    struct editing editing;
    struct random random;
    const struct edit *edits[EDIT_COUNT_MAX]; /* edit_count of them, and their weights */
    uint32_t weights[EDIT_COUNT_MAX];
    uint32_t edit_count;
};

/* The weights in the tables were compared by how many pairs of probes (harness/run/probe.h) 3000
 * executions from one request reach, and at what cost: without swarm blocks it is a quarter fewer,
 * with one edit at a time a fifth, and one mutation in ten by bytes changes nothing. */
const struct edit *const edit_tables[] = {list_edits, size_edits,  state_edits, swarm_edits,
                                          host_edits, setup_edits, NULL};

const struct edit *edit_find(const char *name)
{
    for (size_t i = 0; edit_tables[i] != NULL; i++) {
        for (const struct edit *edit = edit_tables[i]; edit->name != NULL; edit++) {
            if (strcmp(edit->name, name) == 0) {
                return edit;
            }
        }
    }
    return NULL;
}

void editing_init(struct editing *editing, struct input *input, struct random *random,
                  size_t op_count_max)
{
    *editing = (struct editing){.input = input, .random = random, .op_count_max = op_count_max};
    op_list_init(&editing->block);
}

void editing_deinit(struct editing *editing)
{
    op_list_deinit(&editing->block);
}

/* --- mutators --- */

struct mutator *mutator_create(void)
{
    struct mutator *mutator = calloc(1, sizeof *mutator);
    CHECK(mutator != NULL);
    editing_init(&mutator->editing, NULL, &mutator->random, MUTATE_OP_COUNT_MAX);
    for (size_t i = 0; edit_tables[i] != NULL; i++) {
        for (const struct edit *edit = edit_tables[i]; edit->name != NULL; edit++) {
            CHECK(mutator->edit_count < EDIT_COUNT_MAX);
            mutator->weights[mutator->edit_count] = edit->weight;
            mutator->edits[mutator->edit_count++] = edit;
        }
    }
    return mutator;
}

void mutator_destroy(struct mutator *mutator)
{
    if (mutator == NULL) {
        return;
    }
    editing_deinit(&mutator->editing);
    free(mutator);
}

/* One edit.  Where TRIES_MAX of them did not apply the input stays as it is: of an empty list at
 * its full length that can be. */
static void edit_once(struct mutator *mutator)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        const uint32_t drawn = random_weighted(&mutator->random, mutator->weights,
                                               mutator->edit_count);
        op_list_clear(&mutator->editing.block);
        if (mutator->edits[drawn]->apply(&mutator->editing)) {
            return;
        }
    }
}

static void edit_few_times(struct mutator *mutator)
{
    edit_once(mutator);
    for (int i = 1; i < EDITS_MAX && random_chance(&mutator->random, 1, 2); i++) {
        edit_once(mutator);
    }
}

/* True if it fits whatever form its ops take; counting the bytes that each of them does take costs
 * as much as an edit. */
static bool fits_surely(const struct input *input, size_t bytes_max)
{
    const size_t count = input->ops.count;
    return count <= MUTATE_OP_COUNT_MAX &&
           input_head_bytes(input) + count * INPUT_WIDE_BYTES + input->choice_count <= bytes_max;
}

/* Ops go at the end, so that half of the bytes are left for choices at most; then choices. */
static void cut_input(struct input *input, size_t bytes_max)
{
    if (fits_surely(input, bytes_max)) {
        return;
    }
    struct op_list *ops = &input->ops;
    const size_t choices = input->choice_count < bytes_max / 2 ? input->choice_count
                                                               : bytes_max / 2;
    size_t length = input_head_bytes(input);
    if (length > bytes_max) {
        input_forget_hosts(input);
        length = INPUT_HEADER_BYTES;
    }
    size_t count_left = 0;
    while (count_left < ops->count && count_left < MUTATE_OP_COUNT_MAX) {
        const size_t next = input_op_bytes(input, &ops->ops[count_left]);
        if (length + next + choices > bytes_max) {
            break;
        }
        length += next;
        count_left++;
    }
    ops->count = count_left;
    const size_t spare = bytes_max - length;
    input_set_choice_count(input, input->choice_count < spare ? input->choice_count : spare);
}

static void begin_edit(struct mutator *mutator, struct input *input, const struct input *other,
                       uint64_t seed)
{
    mutator->editing.input = input;
    mutator->editing.other = other;
    random_init(&mutator->random, seed);
}

void mutator_change(struct mutator *mutator, struct input *input, size_t bytes_max, uint64_t seed)
{
    CHECK(bytes_max >= INPUT_HEADER_BYTES);
    begin_edit(mutator, input, NULL, seed);
    edit_few_times(mutator);
    cut_input(input, bytes_max);
}

void mutator_cross(struct mutator *mutator, const struct input *one, const struct input *other,
                   size_t bytes_max, uint64_t seed, struct input *out)
{
    CHECK(bytes_max >= INPUT_HEADER_BYTES);
    CHECK(out != one && out != other);
    input_copy(out, one);
    begin_edit(mutator, out, other, seed);
    const struct edit *edit = edit_find(random_chance(&mutator->random, 1, 2) ? "splice" : "join");
    op_list_clear(&mutator->editing.block);
    const bool is_crossed = edit->apply(&mutator->editing);
    if (!is_crossed || random_chance(&mutator->random, 1, 2)) {
        edit_few_times(mutator);
    }
    cut_input(out, bytes_max);
}
