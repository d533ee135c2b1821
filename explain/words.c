/* An explanation in words and numbers. */
#include "explain/options.h"
#include "explain/private/explain_parts.h"
#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/op/chip.h"
#include "harness/op/ops_file.h"
#include "present/refusals.h"
#include "present/table.h"
#include "recording/repeat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void append_size(struct writing *text, uint64_t size_bytes)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(size_bytes, size);
    writing_append(text, size);
    writing_append_format(text, " (%" PRIu64 " bytes)", size_bytes);
}

static void append_sum(struct writing *text, const struct occupancy_sum *sum, const char *what)
{
    char size[SIZE_TEXT_BYTES];
    size_print_field(sum->bytes, size);
    writing_append_format(text, "%" PRIu64 " %s%s holding %s", sum->count, what,
                          sum->count == 1 ? "" : "s", size);
}

const char *explain_tag_name(const struct run *run, uint8_t tag, char name[SETUP_NAME_BYTES])
{
    return setup_tag_name(run_setup(run), tag, name);
}

const char *explain_allocator(const struct explanation *explanation)
{
    const struct system *system = system_find(explanation->recording->setup.system);
    return system == NULL ? "the target" : system->allocator;
}

bool explain_may_move(const struct explanation *explanation)
{
    const struct system *system = system_find(explanation->recording->setup.system);
    return explanation->contract->defrag != DEFRAG_NONE && (system == NULL || system->is_tpu);
}

const char *explain_device(const struct explanation *explanation, uint32_t host,
                           char name[DEVICE_NAME_BYTES])
{
    const struct setup *setup = &explanation->recording->setup;
    const struct system *system = system_find(setup->system);
    const uint32_t *at = setup->coordinate;
    const bool has_coordinate = (at[0] | at[1] | at[2] | at[3]) != 0;
    if ((system != NULL || explanation->recording->devices[host][0] != '\0') &&
        (setup->host_count > 1 || (system != NULL && system->is_tpu && has_coordinate))) {
        return device_name(explanation->recording, host, name);
    }
    snprintf(name, DEVICE_NAME_BYTES, "The %s", system == NULL ? "device" : system->device);
    return name;
}

/* Whom a mitigation is not promised by. */
static const char *name_promiser(const struct explanation *explanation)
{
    return system_find(explanation->recording->setup.system) == NULL
               ? "this target"
               : explain_allocator(explanation);
}

/* The host of a job; of GPUs the device, since each has its own list. */
static void append_host(const struct explanation *explanation, uint32_t host, struct writing *text)
{
    const struct system *system = system_find(explanation->recording->setup.system);
    char device[DEVICE_NAME_BYTES];
    if (run_setup(explanation->run)->host_count <= 1) {
        return;
    }
    if (system == NULL || system->is_tpu) {
        writing_append_format(text, ", on host %u", host);
    } else {
        writing_append_format(text, ", on %s", explain_device(explanation, host, device));
    }
}

/* What the target of a list prints is nobody's message where the list stands for a real system. */
static bool has_message(const struct explanation *explanation)
{
    return run_message(explanation->run)[0] != '\0' &&
           explanation->recording->setup.system[0] == '\0';
}

static void explain_request(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    char op[OP_TEXT_BYTES];
    writing_append_format(text, "op %lu", (unsigned long)verdict->op);
    if (explanation->op != NULL) {
        const struct op_kind_info *info = op_kind_info((enum op_kind)explanation->op->kind);
        const char *tag_name = run_setup(explanation->run)->tags[explanation->op->tag];
        writing_append(text, ": ");
        writing_append_visible(text, op_print(explanation->op, op));
        if (info->has_tag && explanation->op->kind != OP_FAULT && tag_name[0] != '\0') {
            writing_append(text, ", for '");
            writing_append_visible(text, tag_name);
            writing_append(text, "'");
        }
        append_host(explanation, explanation->op->host, text);
        step_axis_append(explanation->steps, verdict->op, ", in ", text);
    }
    writing_append(text, "\n");
    if (explanation->recording->message[0] != '\0') {
        writing_append(text, "the file says");
        if (explanation->recording->message_line != 0) {
            writing_append_format(text, ", in line %zu", explanation->recording->message_line);
        }
        writing_append(text, ": ");
        writing_append_visible(text, explanation->recording->message);
        writing_append(text, "\n");
    } else if (has_message(explanation)) {
        writing_append(text, "the target reported: ");
        writing_append_visible(text, run_message(explanation->run));
        writing_append(text, "\n");
    }
}

/* Of sums no block is known: what is free lies in pieces that the file does not name. */
static bool has_sums_only(const struct explanation *explanation)
{
    return explanation->recording->view == IMPORT_SUMS;
}

/* Whether the reader's system keeps programs on the device, with a stack. */
static bool has_programs(const struct explanation *explanation)
{
    const struct system *system = system_find(explanation->recording->setup.system);
    return system == NULL || system->is_tpu || explanation->occupancy.idle.count > 0 ||
           explanation->occupancy.busy.count > 0;
}

static void append_free(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct occupancy *occupancy = &explanation->occupancy;
    writing_append(text, "Free:          ");
    append_size(text, occupancy->free_bytes);
    if (!has_sums_only(explanation)) {
        writing_append_format(text,
                              " in %" PRIu64 " hole%s\nLargest hole:  ", occupancy->hole_count,
                              occupancy->hole_count == 1 ? "" : "s");
        append_size(text, occupancy->largest_hole_bytes);
    }
    if (occupancy->reserved_bytes > 0 || has_programs(explanation)) {
        writing_append(text, "\nStack:         ");
        append_size(text, occupancy->reserved_bytes);
    }
    writing_append(text, "\n\n");
}

static void explain_space(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    char device[DEVICE_NAME_BYTES];
    writing_append_format(text, "\n%s has ",
                          explain_device(explanation, explanation->moment.host, device));
    append_size(text, explanation->occupancy.capacity_bytes);
    writing_append(text,
                   explain_capacity_is_assumed(explanation) ? ", as assumed below.\n" : ".\n");
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        writing_append(text, "Asked for:     ");
        append_size(text, explanation->verdict->requested_bytes);
        writing_append(text, "\n");
    }
    append_free(explanation);
}

/* With lanes a block may come from an op further down the list. */
static uint32_t count_ops_since(uint32_t now, uint32_t op)
{
    return op < now ? now - op : 0;
}

/* How many ops ago; of queued frees it is not known. */
static void put_ages(struct table *table, const struct occupancy_sum *sum, uint32_t now)
{
    if (sum->oldest_op == OP_NONE) {
        table_put(table, "");
        table_put(table, "");
        return;
    }
    table_put_number(table, count_ops_since(now, sum->oldest_op));
    table_put_number(table, count_ops_since(now, sum->newest_op));
}

static void put_sum(struct table *table, const char *name, const struct occupancy_sum *sum,
                    uint32_t now)
{
    char size[SIZE_TEXT_BYTES];
    if (sum->count == 0) {
        return;
    }
    size_print_field(sum->bytes, size);
    table_put(table, name);
    table_put_number(table, sum->count);
    table_put(table, size);
    put_ages(table, sum, now);
}

/* What the list of a GPU retires is memory that the allocator of that GPU never had. */
static bool is_foreign(const struct explanation *explanation)
{
    const struct system *system = system_find(explanation->recording->setup.system);
    return system != NULL && !system->is_tpu;
}

static void put_kinds(const struct explanation *explanation, struct table *table, uint32_t now)
{
    const struct occupancy *occupancy = &explanation->occupancy;
    const bool may_move = explain_may_move(explanation);
    put_sum(table, may_move ? "buffers, movable" : "buffers", &occupancy->movable, now);
    put_sum(table, "buffers, held", &occupancy->held, now);
    put_sum(table, "programs, idle", &occupancy->idle, now);
    put_sum(table, "programs, busy", &occupancy->busy, now);
    put_sum(table, "queued frees", &occupancy->dying, now);
    put_sum(table, is_foreign(explanation) ? "outside the allocator" : "retired memory",
            &occupancy->retired, now);
}

/* The temporaries of programs, where they are not said before. */
static void put_stack(struct table *table, uint64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    if (bytes > 0) {
        size_print_field(bytes, size);
        table_put(table, "stack");
        table_put(table, size);
    }
}

static void put_tags(struct table *table, const struct explanation *explanation, uint32_t now)
{
    const struct occupancy *occupancy = &explanation->occupancy;
    char name[SETUP_NAME_BYTES], size[SIZE_TEXT_BYTES];
    for (uint32_t i = 0; i < occupancy->tag_count; i++) {
        const struct occupancy_sum *sum = &occupancy->tags[i].sum;
        char line[SETUP_NAME_BYTES + 8];
        snprintf(line, sizeof line, "of '%s'",
                 explain_tag_name(explanation->run, occupancy->tags[i].tag, name));
        if (has_sums_only(explanation)) {
            size_print_field(sum->bytes, size);
            table_put(table, line);
            table_put(table, size);
        } else {
            put_sum(table, line, sum, now);
        }
    }
}

void explain_holders(struct explanation *explanation, const char *heading, uint32_t now)
{
    const char *const heads[] = {heading, "blocks", "bytes", "oldest", "newest, ops ago"};
    const char *const sum_heads[] = {heading, "bytes"};
    const bool is_sums = has_sums_only(explanation);
    const size_t head_count = is_sums ? 2 : sizeof heads / sizeof *heads;
    struct table table;
    table_init(&table, head_count, 1);
    for (size_t i = 0; i < head_count; i++) {
        table_put(&table, is_sums ? sum_heads[i] : heads[i]);
    }
    if (!is_sums) {
        put_kinds(explanation, &table, now);
    } else if (explanation->verdict->kind == VERDICT_NONE) {
        put_stack(&table, explanation->occupancy.reserved_bytes);
    }
    put_tags(&table, explanation, now);
    table_print(&table, 0, &explanation->text);
    table_deinit(&table);
    if (explanation->occupancy.tag_count == OCCUPANCY_TAG_COUNT_MAX) {
        writing_append(&explanation->text,
                       "(the 8 largest tags; queued frees are not counted by tag)\n");
    }
}

static void explain_drain(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    writing_append(text, "  drain       ");
    if (!explanation->contract->drains) {
        writing_append_format(text, "is not promised by %s", name_promiser(explanation));
    } else if (explanation->occupancy.dying.count == 0) {
        writing_append(text, "no queued free is left to wait for");
    } else {
        append_sum(text, &explanation->occupancy.dying, "queued free");
        writing_append(text, " left; their events or holds have not ended");
    }
    writing_append(text, "\n");
}

static void explain_defragment(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct occupancy *occupancy = &explanation->occupancy;
    writing_append(text, "  defragment  ");
    if (explanation->contract->defrag == DEFRAG_NONE) {
        writing_append_format(text, "is not promised by %s: nothing ever moves",
                              name_promiser(explanation));
    } else if (occupancy->free_bytes < explanation->verdict->requested_bytes) {
        writing_append(text, "cannot help alone: the request is larger than all free memory");
    } else {
        append_sum(text, &occupancy->movable, "block");
        writing_append(text, explanation->contract->defrag == DEFRAG_SLIDE
                                 ? " may slide between "
                                 : " may go anywhere around ");
        writing_append_format(
            text, "%" PRIu64 " that may not move (held, busy or dying)",
            (occupancy->held.count + occupancy->busy.count + occupancy->dying.count));
        writing_append(text, oom_has_other(run_oom(explanation->run)) ? ", as assumed" : "");
    }
    writing_append(text, "\n");
}

static void explain_evict(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const bool is_program = explanation->op != NULL && (explanation->op->kind == OP_LOAD ||
                                                        explanation->op->kind == OP_EXECUTE);
    const bool promised = is_program ? explanation->contract->program_evicts_program
                                     : explanation->contract->evicts;
    writing_append(text, "  evict       ");
    if (!promised) {
        writing_append_format(text, "is not promised %s", is_program ? "to a program" : "by ");
        writing_append(text, is_program ? "" : name_promiser(explanation));
    } else if (explanation->occupancy.idle.count == 0) {
        writing_append_format(text, "no idle program is on the device (%" PRIu64 " busy)",
                              explanation->occupancy.busy.count);
    } else {
        append_sum(text, &explanation->occupancy.idle, "idle program");
    }
    writing_append(text, "\n");
}

static void explain_verdict(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct verdict *verdict = explanation->verdict;
    if (verdict->kind == VERDICT_BROKEN) {
        writing_append_format(text, "\nBroken: %s (%s)\n", rule_info(verdict->rule)->name,
                              rule_info(verdict->rule)->summary);
    } else {
        writing_append_format(text, "\nVerdict: %s\n", verdict_name(verdict->kind));
    }
    writing_append(text, "  ");
    writing_append_visible(text, verdict->reason);
    writing_append(text, "\n");
    explain_settle(explanation);
}

/* A program whose stack has no place fits with no image: how much of a stack it would have got. */
static bool append_largest_stack(const struct explanation *explanation, struct writing *text)
{
    const struct oom *oom = run_oom(explanation->run);
    char stack[SIZE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (explanation->largest.bytes > 0 || !explanation->largest.is_exact ||
        oom->request.class != REQUEST_PROGRAM || oom->request.stack_bytes == 0) {
        return false;
    }
    struct oracle *oracle = oracle_create();
    const struct oracle_largest largest = oracle_find_largest_stack(oracle, oom,
                                                                    explanation->verdict->kind, 0);
    oracle_destroy(oracle);
    if (largest.bytes == 0) {
        return false;
    }
    size_print_field(oom->request.stack_bytes, stack);
    size_print_field(largest.bytes, size);
    writing_append_format(text,
                          "no image would have been served next to a stack of %s; this program "
                          "with a stack of %s%s (%" PRIu64 " bytes) would",
                          stack, largest.is_exact ? "up to " : "at least ", size, largest.bytes);
    return true;
}

/* How much the client could have had, and how the target did up to here. */
static void explain_refusals(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    const struct run_totals *totals = run_totals(explanation->run);
    if (explain_has_settle(explanation)) {
        return; /* what else would be served is as open as the verdict */
    }
    writing_append(text, "  Largest request: ");
    if (!append_largest_stack(explanation, text)) {
        refusals_append_largest(text, &explanation->largest);
    }
    writing_append(text, "\n");
    if (totals->premature > 0) {
        writing_append(text, "  Refusals so far: ");
        refusals_append_share(text, totals);
        writing_append(text, "\n");
    }
}

static void append_convert(struct writing *text, const struct explain_options *options)
{
    writing_append(text, "hbmstress convert");
    repeat_word(text, options->paths[0]);
    repeat_option(text, "--format", options->reading.format);
    repeat_setup(text, options->reading.run);
    repeat_number(text, "--kv-bytes-per-token", options->reading.kv_bytes_per_token);
    repeat_number(text, "--kv-tokens-per-second", options->reading.kv_tokens_per_second);
    writing_append(text, " -o list.ops, then hbmstress replay list.ops");
}

/* Where the proof of a verdict on an OOM comes from. */
static void explain_proof(struct explanation *explanation)
{
    struct writing *text = &explanation->text;
    writing_append(text, "  Its proof: ");
    if (explanation->recording->format == &format_ops) {
        writing_append(text, "hbmstress replay");
        repeat_word(text, explanation->options->paths[0]);
        repeat_setup(text, explanation->options->reading.run);
    } else {
        append_convert(text, explanation->options);
    }
    writing_append(text, " --certificates DIR\n");
}

void explain_in_words(struct explanation *explanation)
{
    explain_request(explanation);
    explain_space(explanation);
    explain_holders(explanation, "Who holds the rest", explanation->verdict->op);
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        writing_append_format(&explanation->text,
                              "\nWhat each mitigation had left when %s gave up\n",
                              explain_allocator(explanation));
        explain_drain(explanation);
        explain_defragment(explanation);
        if (has_programs(explanation)) {
            explain_evict(explanation);
        }
    }
    explain_verdict(explanation);
    if (explanation->verdict->kind != VERDICT_BROKEN) {
        explain_refusals(explanation);
        explain_proof(explanation);
    }
}
