#include "diagnosis/largest_batch.h"

#include "diagnosis/private/variant.h"
#include "diagnosis/private/what_if_parts.h"
#include "harness/base/edge.h"

#include <stdlib.h>

#define SIZE_BYTES_MAX (UINT64_C(1) << 50) /* no device is larger */

static uint64_t scale(uint64_t bytes, uint64_t percent)
{
    const uint64_t scaled = bytes / 100 * percent + (bytes % 100 * percent + 99) / 100;
    return scaled < SIZE_BYTES_MAX ? scaled : SIZE_BYTES_MAX;
}

/* True if op i is scaled.  A donation's output is, too: it takes over a block that is scaled. */
static bool is_scaled(const struct remedy_case *given, const bool *is_load_of_steps, size_t i)
{
    const struct op *op = &given->ops->ops[i];
    const uint32_t root = given->lives.lives[i].root;
    const bool is_block = op_kind_info((enum op_kind)op->kind)->makes_block &&
                          op->kind != OP_LOAD && root != OP_NONE && given->steps.is_of_step[root];
    return op->kind == OP_LOAD ? is_load_of_steps[i] : is_block;
}

void largest_batch_scale(const struct remedy_case *given, uint64_t percent, struct op_list *to)
{
    struct remedy_sizes sizes;
    bool *is_load_of_steps = remedy_sizes_loads_of_steps(given);
    remedy_sizes_init(&sizes, given, to);
    for (size_t i = 0; i < to->count; i++) {
        struct op *op = &to->ops[i];
        if (!is_scaled(given, is_load_of_steps, i)) {
            continue;
        }
        if (op->kind == OP_LOAD) {
            op->stack_bytes = scale(op->stack_bytes, percent);
        } else {
            op->size_bytes = scale(op->size_bytes, percent);
            op->unpadded_bytes = scale(op->unpadded_bytes, percent);
        }
    }
    remedy_sizes_settle(&sizes, &given->lives);
    free(is_load_of_steps);
}

/* The state of the search. */
struct batch_search {
    const struct remedy_case *given;
    struct op_list scaled;
    uint64_t ops_left;
    struct largest_batch *found;
};

static bool may_run(void *context)
{
    const struct batch_search *search = context;
    return search->ops_left >= search->given->ops->count;
}

static bool fits(void *context, uint64_t percent)
{
    struct batch_search *search = context;
    struct what_if_row row = {0};
    op_list_clear(&search->scaled);
    largest_batch_scale(search->given, percent, &search->scaled);
    search->ops_left -= search->scaled.count;
    what_if_measure(search->given->target, search->given->setup, &search->scaled, &row, NULL);
    if (row.end == WHAT_IF_FITS) {
        search->found->row = row;
    }
    return row.end == WHAT_IF_FITS;
}

static void look(struct batch_search *search)
{
    const struct edge_search edges = {.low = 1,
                                      .high = LARGEST_BATCH_PERCENT_MAX,
                                      .may_try = may_run,
                                      .holds = fits,
                                      .context = search};
    struct edge edge = {0};
    edge_find(&edges, 100, &edge);
    search->found->fits = edge.holds;
    search->found->fails = edge.fails;
}

static uint64_t count_scaled(const struct remedy_case *given)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < given->ops->count; i++) {
        const bool is_root = given->lives.lives[i].root == i && given->ops->ops[i].kind != OP_LOAD;
        bytes += is_root && given->steps.is_of_step[i] ? given->lives.lives[i].bytes : 0;
    }
    return bytes;
}

/* A batch is no answer to a list that grows, and none is known of one whose steps do not repeat. */
static bool grows_or_fills(const struct remedy_case *given)
{
    struct what_if_row row = {0};
    struct forecast forecast;
    what_if_measure(given->target, given->setup, given->ops, &row, &forecast);
    return forecast.grows || forecast.fills;
}

bool largest_batch_find(const struct target *target, const struct setup *setup,
                        const struct op_list *ops, uint64_t ops_max, struct largest_batch *found)
{
    struct what_if_base base;
    *found = (struct largest_batch){0};
    if (ops->count > ops_max / 4) {
        return false;
    }
    if (what_if_base_init(&base, target, setup, ops) == WHAT_IF_DONE) {
        struct remedy_case given;
        struct batch_search search = {
            .given = &given, .ops_left = ops_max - 2 * ops->count, .found = found};
        remedy_case_init(&given, target, &base.contract, &base.setup, &base.ops, base.has_failed);
        op_list_init(&search.scaled);
        found->scaled_bytes = given.steps.count > 0 ? count_scaled(&given) : 0;
        found->is_found = found->scaled_bytes > 0 && !grows_or_fills(&given);
        if (found->is_found) {
            look(&search);
        }
        op_list_deinit(&search.scaled);
        remedy_case_deinit(&given);
    }
    what_if_base_deinit(&base);
    return found->is_found;
}

bool largest_batch_make(const struct target *target, const struct setup *setup,
                        const struct op_list *ops, uint64_t percent, struct op_list *to)
{
    struct what_if_base base;
    bool is_made = false;
    if (what_if_base_init(&base, target, setup, ops) == WHAT_IF_DONE) {
        struct remedy_case given;
        remedy_case_init(&given, target, &base.contract, &base.setup, &base.ops, base.has_failed);
        is_made = given.steps.count > 0 && count_scaled(&given) > 0;
        if (is_made) {
            largest_batch_scale(&given, percent, to);
        }
        remedy_case_deinit(&given);
    }
    what_if_base_deinit(&base);
    return is_made;
}
