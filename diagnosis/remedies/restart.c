/* Checkpoint and re-initialise: everything is freed, and what lives long is made again in the order
 * in which it was. */
#include "diagnosis/remedy.h"

#include "diagnosis/private/variant.h"
#include "harness/base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The lives that exist while the list is rewritten. */
struct living {
    uint32_t *roots; /* count of them, in the order in which they were made */
    size_t count, room;
    uint32_t *holds; /* by root */
    uint32_t *names; /* by root: the op that names the life now, an output when it was donated */
    bool *is_gone; /* by root: freed before, and a restart released the references that were left */
};

struct restart {
    const struct remedy_case *given;
    struct rewrite rewrite;
    struct drain drain;
    struct living living;
    uint64_t count, left_out_count;
};

static bool is_freed(const struct restart *restart, uint32_t root, uint32_t at)
{
    const uint32_t end = restart->given->lives.lives[root].end;
    return end != OP_NONE && end < at;
}

/* True if the life comes back: it is named again, or existed before the steps.  A leak does not. */
static bool is_coming_back(const struct restart *restart, uint32_t root, uint32_t at)
{
    return restart->given->lives.lives[root].last_named >= at ||
           root < restart->given->steps.bounds[0];
}

static void forget_ended(struct restart *restart, uint32_t at)
{
    struct living *living = &restart->living;
    size_t kept = 0;
    for (size_t i = 0; i < living->count; i++) {
        const uint32_t root = living->roots[i];
        if (!is_freed(restart, root, at) || living->holds[root] > 0) {
            living->roots[kept++] = living->roots[i];
        }
    }
    living->count = kept;
}

/* Frees all.  A life that is freed already but still held only needs its references released. */
static void free_all(struct restart *restart, uint32_t at)
{
    const struct living *living = &restart->living;
    for (size_t i = 0; i < living->count; i++) {
        const uint32_t name = living->names[living->roots[i]];
        for (uint32_t k = 0; k < living->holds[living->roots[i]]; k++) {
            rewrite_add_on(&restart->rewrite, OP_RELEASE, name);
        }
        if (is_freed(restart, living->roots[i], at)) {
            continue;
        }
        const bool is_program = restart->given->ops->ops[name].kind == OP_LOAD;
        rewrite_add_on(&restart->rewrite, is_program ? OP_UNLOAD : OP_FREE, name);
    }
}

static void make_again(struct restart *restart, uint32_t root)
{
    const uint32_t name = restart->living.names[root];
    struct op again = restart->given->ops->ops[name];
    if (again.kind == OP_DONATE) { /* in a block as large as the one that it had taken over */
        const struct op *first = &restart->given->ops->ops[root];
        const uint64_t used_bytes = again.unpadded_bytes > 0 ? again.unpadded_bytes
                                                             : again.size_bytes;
        again.kind = OP_OUTPUT;
        again.ref = OP_NONE;
        again.align_log2 = first->align_log2;
        again.size_bytes = first->size_bytes;
        again.unpadded_bytes = used_bytes < first->size_bytes ? used_bytes : 0;
    }
    rewrite_as(&restart->rewrite, name, &again);
    for (uint32_t k = 0; k < restart->living.holds[root]; k++) {
        rewrite_add_on(&restart->rewrite, OP_HOLD, name);
    }
}

static void put_restart(struct restart *restart, uint32_t at)
{
    struct living *living = &restart->living;
    size_t kept = 0;
    forget_ended(restart, at);
    free_all(restart, at);
    (void)drain_put(&restart->drain, &restart->rewrite, at);
    for (size_t i = 0; i < living->count; i++) {
        const uint32_t root = living->roots[i];
        if (is_freed(restart, root, at)) {
            living->is_gone[root] = true;
        } else if (is_coming_back(restart, root, at)) {
            make_again(restart, root);
            living->roots[kept++] = root;
        } else {
            restart->left_out_count++;
        }
    }
    living->count = kept;
    restart->count++;
}

static void keep_op(struct restart *restart, uint32_t i)
{
    const struct op *op = &restart->given->ops->ops[i];
    struct living *living = &restart->living;
    const uint32_t root = restart->given->lives.lives[i].root;
    const bool is_needless = root != OP_NONE && living->is_gone[root];
    if (is_needless || drain_makes_needless(&restart->drain, restart->given->ops, i)) {
        return;
    }
    rewrite_keep(&restart->rewrite, i);
    drain_note(&restart->drain, restart->given->ops, i);
    if (root == OP_NONE) {
        return;
    }
    if (root == i) {
        living->roots = array_grown(living->roots, living->count, &living->room,
                                    sizeof *living->roots);
        living->roots[living->count++] = i;
    }
    living->names[root] = root == i || op->kind == OP_DONATE ? i : living->names[root];
    living->holds[root] += op->kind == OP_HOLD;
    living->holds[root] -= op->kind == OP_RELEASE && living->holds[root] > 0;
}

/* The index-th of the powers of two below the number of steps, the largest first. */
static bool restart_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                              char note[REMEDY_NOTE_BYTES])
{
    snprintf(note, REMEDY_NOTE_BYTES, "%s", REMEDY_NO_STEPS);
    uint64_t every = 1;
    while (every * 2 < given->steps.count) {
        every *= 2;
    }
    *parameter = every >> index;
    return given->steps.count > 0 && index < 32 && *parameter >= 1;
}

static bool restart_apply(const struct remedy_case *given, uint64_t parameter,
                          struct remedy_result *result)
{
    const struct remedy_steps *steps = &given->steps;
    struct restart restart = {.given = given};
    size_t step = parameter; /* the next one before which everything starts anew */
    drain_init(&restart.drain, given->setup, given->ops->count);
    rewrite_init(&restart.rewrite, given->ops, &result->ops);
    restart.living.holds = calloc(given->ops->count + 1, sizeof *restart.living.holds);
    restart.living.names = calloc(given->ops->count + 1, sizeof *restart.living.names);
    restart.living.is_gone = calloc(given->ops->count + 1, sizeof *restart.living.is_gone);
    CHECK(restart.living.holds != NULL);
    CHECK(restart.living.names != NULL);
    CHECK(restart.living.is_gone != NULL);
    const size_t ops_max = REMEDY_OPS_FACTOR * given->ops->count + REMEDY_OPS_MORE;
    for (uint32_t i = 0; i < given->ops->count && result->ops.count <= ops_max; i++) {
        if (step < steps->count && steps->bounds[step] == i) {
            put_restart(&restart, i);
            step += parameter;
        }
        keep_op(&restart, i);
    }
    rewrite_deinit(&restart.rewrite);
    drain_deinit(&restart.drain);
    free(restart.living.roots);
    free(restart.living.names);
    free(restart.living.holds);
    free(restart.living.is_gone);
    snprintf(result->note, sizeof result->note,
             "restarts: %" PRIu64
             "; blocks that no later op names and that do not come back: %" PRIu64,
             restart.count, restart.left_out_count);
    return restart.count > 0;
}

const struct remedy remedy_restart = {
    .name = "restart",
    .summary = "checkpoint and re-initialise every n steps",
    .parameter_name = "n",
    .assumes =
        "A checkpoint holds what later steps name and what was live before the first step; nothing else survives.",
    .is_estimate = true,
    .search = REMEDY_REFINED,
    .parameter = restart_parameter,
    .apply = restart_apply,
};
