/* The point of no return: no job that leaves out requests after it is served, and one that leaves
 * out those from it on is; checked by trying all of them on small lists. */
#include "diagnosis/no_return.h"
#include "harness/base/random.h"
#include "harness/run/run.h"
#include "targets/targets.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

enum { GRANULE = 512, GRANULES = 12, OP_COUNT = 9, LIST_COUNT = 400 };

struct list {
    struct setup setup;
    struct op_list ops;
    struct verdict verdict; /* on its first out-of-memory; NONE: there was none */
    struct no_return no_return;
};

static void list_init(struct list *list)
{
    memset(list, 0, sizeof *list);
    setup_init(&list->setup);
    op_list_init(&list->ops);
    list->setup.capacity_bytes = GRANULES * GRANULE;
    list->setup.granule_bytes = GRANULE;
    (void)snprintf(list->setup.target, sizeof list->setup.target, "hbm");
}

static void list_run(struct list *list)
{
    char reason[RUN_REASON_BYTES] = "";
    struct run *run = run_create(target_find(list->setup.target), &list->setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    for (size_t i = 0; i < list->ops.count && list->verdict.kind == VERDICT_NONE; i++) {
        list->verdict = *run_step(run, &list->ops.ops[i]);
    }
    if (list->verdict.kind != VERDICT_NONE) {
        ck_assert_int_ne(list->verdict.kind, VERDICT_BROKEN);
        no_return_find(run, &list->verdict, &list->no_return);
    }
    run_destroy(run);
}

/* --- lists at random --- */

/* Frees and donations are of blocks that the job has: is_there, by op. */
static struct op draw_op(struct random *random, const struct op_list *ops, bool *is_there)
{
    struct op op = op_make(OP_ALLOC);
    const uint64_t kind = random_below(random, 8);
    const uint32_t ref = (uint32_t)random_below(random, ops->count + 1);
    op.size_bytes = random_between(random, 1, 4 * GRANULE);
    if (kind < 3 && is_there[ref]) {
        op = op_make(kind == 0 ? OP_DONATE : OP_FREE);
        op.ref = ref;
        op.size_bytes = kind == 0 ? random_between(random, 1, GRANULE) : 0;
        is_there[ref] = false;
    }
    is_there[ops->count] = op.kind != OP_FREE;
    return op;
}

static void list_draw(struct list *list, uint64_t seed, const char *defrag)
{
    struct random random;
    list_init(list);
    ck_assert(setup_set_option(&list->setup, "defrag", defrag));
    random_init(&random, seed);
    bool is_there[OP_COUNT + 1] = {false};
    for (int i = 0; i < OP_COUNT; i++) {
        const struct op op = draw_op(&random, &list->ops, is_there);
        op_list_append(&list->ops, &op);
    }
    struct op last = op_make(OP_ALLOC);
    last.size_bytes = random_between(&random, 1, (GRANULES + 1) * GRANULE);
    op_list_append(&list->ops, &last);
    list_run(list);
}

/* --- all that a job could do --- */

static uint64_t count_granules(uint64_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE;
}

/* The granules that live when op `failed` comes, in the best of all heaps, where ops with their bit
 * in left_out are not done. */
static uint64_t live_granules(const struct op_list *ops, uint32_t failed, uint32_t left_out)
{
    uint64_t sizes[OP_COUNT + 1] = {0}; /* by the op under whose name the block lives */
    uint64_t live = 0;
    for (uint32_t i = 0; i < failed; i++) {
        const struct op *op = &ops->ops[i];
        if ((left_out >> i & 1) != 0) {
            continue;
        }
        if (op->kind == OP_ALLOC) {
            sizes[i] = count_granules(op->size_bytes);
            live += sizes[i];
        } else if (op->kind == OP_FREE) {
            live -= sizes[op->ref];
            sizes[op->ref] = 0;
        } else if (sizes[op->ref] >= count_granules(op->size_bytes)) {
            sizes[i] = sizes[op->ref];
            sizes[op->ref] = 0;
        }
    }
    return live;
}

/* Whether some choice of requests left out at or after op `from` makes room for op `failed`. */
static bool may_be_avoided(const struct op_list *ops, uint32_t failed, uint32_t from)
{
    const uint64_t request = count_granules(ops->ops[failed].size_bytes);
    uint32_t requests = 0;
    for (uint32_t i = from; i < failed; i++) {
        requests |= (uint32_t)(ops->ops[i].kind != OP_FREE) << i;
    }
    for (uint32_t left_out = requests;; left_out = (left_out - 1) & requests) {
        if (live_granules(ops, failed, left_out) + request <= GRANULES) {
            return true;
        }
        if (left_out == 0) {
            return false;
        }
    }
}

static void check_list(const struct list *list)
{
    const uint32_t failed = list->verdict.op;
    switch (list->no_return.kind) {
    case NO_RETURN_NONE:
        ck_assert(may_be_avoided(&list->ops, failed, failed));
        return;
    case NO_RETURN_START:
        ck_assert(!may_be_avoided(&list->ops, failed, 0));
        return;
    default:
        break;
    }
    ck_assert_uint_lt(list->no_return.op, failed);
    for (uint32_t from = 0; from <= failed; from++) {
        ck_assert_msg(may_be_avoided(&list->ops, failed, from) == (from <= list->no_return.op),
                      "op %u of a list that fails at op %u and has its point at op %u", from,
                      failed, list->no_return.op);
    }
}

TEST(it_is_where_leaving_out_all_that_follows_no_longer_helps)
{
    uint64_t counts[NO_RETURN_OP + 1] = {0};
    static const char *const defrags[] = {"repack", "slide", "none"};
    for (uint64_t seed = 1; seed <= LIST_COUNT; seed++) {
        struct list list;
        list_draw(&list, seed, defrags[seed % 3]);
        if (list.verdict.kind != VERDICT_NONE) {
            check_list(&list);
            counts[list.no_return.kind]++;
        }
        op_list_deinit(&list.ops);
    }
    ck_assert_uint_gt(counts[NO_RETURN_OP], 50);
    ck_assert_uint_gt(counts[NO_RETURN_START], 5);
    ck_assert_uint_gt(counts[NO_RETURN_NONE], 5);
}
