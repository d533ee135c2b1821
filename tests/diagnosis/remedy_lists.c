#include "tests/diagnosis/remedy_lists.h"

#include "diagnosis/private/what_if_parts.h"
#include "harness/op/ops_file.h"
#include "targets/targets.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

void remedy_list_take(struct remedy_list *list, const struct setup *setup,
                      const struct op_list *ops)
{
    const struct target *target = target_find(setup->target);
    ck_assert_int_eq(what_if_base_init(&list->base, target, setup, ops), WHAT_IF_DONE);
    remedy_case_init(&list->given, target, &list->base.contract, &list->base.setup, &list->base.ops,
                     list->base.has_failed);
    ck_assert(remedy_lives_invariants_hold(&list->given.lives));
    remedy_result_init(&list->result);
}

void remedy_list_parse(struct remedy_list *list, const char *text)
{
    struct setup setup;
    struct op_list ops;
    struct ops_file_error error = {0};
    char whole[4096];
    op_list_init(&ops);
    snprintf(whole, sizeof whole, "hbmstress-ops 1\n%s%s%s",
             strstr(text, "capacity") == NULL ? "capacity 1M\n" : "",
             strstr(text, "target") == NULL ? "target hbm\n" : "", text);
    ck_assert_msg(ops_file_parse(whole, strlen(whole), &setup, &ops, &error) == OPS_FILE_OK,
                  "line %zu: %s", error.line, error.reason);
    remedy_list_take(list, &setup, &ops);
    op_list_deinit(&ops);
}

void remedy_list_deinit(struct remedy_list *list)
{
    remedy_result_deinit(&list->result);
    remedy_case_deinit(&list->given);
    what_if_base_deinit(&list->base);
}

static uint32_t add_request(struct op_list *ops, enum op_kind kind, uint64_t size_bytes,
                            uint8_t tag)
{
    struct op op = op_make(kind);
    op.size_bytes = size_bytes;
    op.tag = tag;
    op_list_append(ops, &op);
    return (uint32_t)(ops->count - 1);
}

static void add_free(struct op_list *ops, uint32_t ref)
{
    struct op op = op_make(OP_FREE);
    op.ref = ref;
    op_list_append(ops, &op);
}

static void add_step(struct op_list *ops)
{
    const uint32_t batch = add_request(ops, OP_ALLOC, 64 << 10, 2);
    const uint32_t first = add_request(ops, OP_OUTPUT, 128 << 10, 3);
    const uint32_t second = add_request(ops, OP_OUTPUT, 64 << 10, 3);
    const uint32_t gradients = add_request(ops, OP_OUTPUT, 96 << 10, 4);
    add_free(ops, second);
    add_free(ops, first);
    add_free(ops, gradients);
    (void)add_request(ops, OP_OUTPUT, 512, 5);
    add_free(ops, batch);
}

void remedy_list_steps(struct remedy_list *list, unsigned step_count)
{
    static const char *const tags[] = {NULL, "params", "batch", "acts", "grads", "loss"};
    struct setup setup;
    struct op_list ops;
    setup_init(&setup);
    setup.capacity_bytes = 1 << 20;
    for (uint8_t tag = 1; tag < sizeof tags / sizeof *tags; tag++) {
        setup_set_tag(&setup, tag, tags[tag]);
    }
    op_list_init(&ops);
    (void)add_request(&ops, OP_ALLOC, 64 << 10, 1);
    (void)add_request(&ops, OP_ALLOC, 32 << 10, 1);
    for (unsigned i = 0; i < step_count; i++) {
        add_step(&ops);
    }
    remedy_list_take(list, &setup, &ops);
    op_list_deinit(&ops);
}

void remedy_list_apply(struct remedy_list *list, const struct remedy *remedy, uint64_t parameter)
{
    ck_assert_msg(remedy_apply(remedy, &list->given, parameter, &list->result),
                  "%s does not apply: %s", remedy->name, list->result.note);
}

/* Whether an op may find nothing to do though all went well: what completed already, what lies
 * where a block went, and a move where nothing may. */
static bool may_be_skipped(const struct op *op)
{
    return op->kind == OP_COMPLETE || op->kind == OP_RETIRE || op->kind == OP_DEFRAGMENT;
}

static void check_nothing_is_skipped(const struct remedy_list *list)
{
    char reason[RUN_REASON_BYTES] = "";
    char text[OP_TEXT_BYTES];
    struct run *run = run_create(list->given.target, &list->result.setup, reason);
    ck_assert_msg(run != NULL, "%s", reason);
    for (size_t i = 0; i < list->result.ops.count; i++) {
        const struct op *op = &list->result.ops.ops[i];
        (void)run_step(run, op);
        ck_assert_msg(!run_observation(run)->skipped || may_be_skipped(op),
                      "op %zu of %zu is skipped: %s", i, list->result.ops.count,
                      op_print(op, text));
    }
    run_destroy(run);
}

void remedy_list_measure(const struct remedy_list *list, struct what_if_row *row)
{
    *row = (struct what_if_row){0};
    what_if_measure(list->given.target, &list->result.setup, &list->result.ops, row, NULL);
    ck_assert_msg(row->end == WHAT_IF_FITS || row->end == WHAT_IF_NO_MEMORY, "%s at op %u of %zu",
                  what_if_end_name(row->end), row->failed_op, list->result.ops.count);
    if (row->end == WHAT_IF_FITS) {
        check_nothing_is_skipped(list);
    }
}
