/* Who holds the memory of the moment; where nothing failed, the peak. */
#include "explain/private/explanation.h"
#include "harness/op/system.h"
#include "present/memory_chart.h"

#include <inttypes.h>
#include <stddef.h>

/* What is held, by kind and state; each in its word for JSON, and for people. */
static const struct holder_kind {
    const char *name, *words;
    size_t offset; /* in struct occupancy */
} kinds[] = {
    {"movable", "buffers, movable", offsetof(struct occupancy, movable)},
    {"held", "buffers, held", offsetof(struct occupancy, held)},
    {"idle_programs", "programs, idle", offsetof(struct occupancy, idle)},
    {"busy_programs", "programs, busy", offsetof(struct occupancy, busy)},
    {"queued_frees", "queued frees", offsetof(struct occupancy, dying)},
    {"retired", "retired memory", offsetof(struct occupancy, retired)},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static const struct occupancy_sum *sum_of(const struct occupancy *occupancy, size_t kind)
{
    return (const void *)((const char *)occupancy + kinds[kind].offset);
}

/* --- JSON --- */

static void add_sum(struct facts *facts, const struct occupancy_sum *sum, bool has_ops)
{
    facts_count(facts, "blocks", sum->count);
    facts_size(facts, "bytes", sum->bytes);
    if (has_ops) {
        facts_count(facts, "oldest_op", sum->oldest_op);
        facts_count(facts, "newest_op", sum->newest_op);
    }
    facts_unnest(facts, '}');
}

void explain_add_holders(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        const struct occupancy_sum *sum = sum_of(occupancy, kind);
        facts_nest(facts, kinds[kind].name, '{');
        add_sum(facts, sum, sum->count > 0 && sum->oldest_op != OP_NONE);
    }
    facts_nest(facts, "tags", '[');
    for (uint32_t i = 0; i < occupancy->tag_count; i++) {
        facts_nest(facts, NULL, '{');
        facts_text(facts, "tag", explain_tag_name(explanation, occupancy->tags[i].tag).text);
        add_sum(facts, &occupancy->tags[i].sum, true);
    }
    facts_unnest(facts, ']');
}

/* --- words --- */

/* With lanes a block may come from an op further down the list. */
static uint32_t count_ops_since(uint32_t now, uint32_t op)
{
    return op < now ? now - op : 0;
}

/* Of queued frees it is not known how many ops ago. */
static void put_holder(struct explanation *explanation, const char *name,
                       const struct occupancy_sum *sum)
{
    struct facts *facts = &explanation->facts;
    const uint32_t now = explanation->moment.op;
    if (sum->count == 0) {
        return;
    }
    facts_open(facts, NULL);
    facts_cell(facts, "holder", name);
    facts_cell_count(facts, "blocks", sum->count);
    facts_cell_size(facts, "bytes", sum->bytes);
    if (sum->oldest_op != OP_NONE) {
        facts_cell_count(facts, "oldest", count_ops_since(now, sum->oldest_op));
        facts_cell_count(facts, "newest", count_ops_since(now, sum->newest_op));
    }
    facts_close(facts);
}

/* What the list of a GPU retires is memory that the allocator of that GPU never had. */
static void put_kinds(struct explanation *explanation)
{
    const struct system *system = explain_system(explanation);
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        const struct occupancy_sum *sum = sum_of(occupancy, kind);
        const bool is_foreign = sum == &occupancy->retired && system != NULL && !system->is_tpu;
        const bool is_fixed = sum == &occupancy->movable && !explain_may_move(explanation);
        put_holder(explanation,
                   is_foreign ? "outside the allocator"
                   : is_fixed ? "buffers"
                              : kinds[kind].words,
                   sum);
    }
}

/* The temporaries of programs, where they are not said before. */
static void put_stack(struct explanation *explanation)
{
    const uint64_t bytes = explanation->moment.occupancy.reserved_bytes;
    if (explanation->verdict->kind == VERDICT_NONE && bytes > 0) {
        facts_open(&explanation->facts, NULL);
        facts_cell(&explanation->facts, "holder", "stack");
        facts_cell_size(&explanation->facts, "bytes", bytes);
        facts_close(&explanation->facts);
    }
}

/* Of sums no block is known. */
void explain_holders(struct explanation *explanation, const char *heading)
{
    struct facts *facts = &explanation->facts;
    struct facts_column *columns = explanation->holder_columns;
    const struct occupancy *occupancy = &explanation->moment.occupancy;
    const bool is_sums = explanation->recording->view == IMPORT_SUMS;
    columns[0] = (struct facts_column){"holder", heading};
    columns[1] = (struct facts_column){"blocks", "#blocks"};
    columns[is_sums ? 1 : 2] = (struct facts_column){"bytes", "#bytes"};
    columns[3] = (struct facts_column){"oldest", "#oldest"};
    columns[4] = (struct facts_column){"newest", "#newest, ops ago"};
    facts_table(facts, columns, is_sums ? 2 : 5);
    const size_t begin = facts->count;
    (is_sums ? put_stack : put_kinds)(explanation);
    for (uint32_t i = 0; i < occupancy->tag_count; i++) {
        char line[SETUP_NAME_BYTES + 8];
        snprintf(line, sizeof line, "of '%s'",
                 explain_tag_name(explanation, occupancy->tags[i].tag).text);
        put_holder(explanation, line, &occupancy->tags[i].sum);
    }
    const bool has_none = facts->count == begin;
    facts_table_end(facts);
    if (has_none) {
        facts_answer(facts, is_sums ? "%s  bytes" : "%s  blocks  bytes  oldest  newest, ops ago",
                     heading);
    }
    if (occupancy->tag_count == OCCUPANCY_TAG_COUNT_MAX) {
        facts_answer(facts, "(the 8 largest tags; queued frees are not counted by tag)");
    }
}

/* --- the peak --- */

/* Of sums there was no op: they are what the device had when they were taken. */
static void say_peak(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct moment *moment = &explanation->moment;
    const struct occupancy *occupancy = &moment->occupancy;
    const uint64_t retired_bytes = occupancy->retired.bytes; /* no part of the device any more */
    const struct memory_point peak = {.used_bytes = occupancy->in_use_bytes +
                                                    occupancy->reserved_bytes - retired_bytes,
                                      .capacity_bytes = occupancy->capacity_bytes - retired_bytes};
    const uint32_t host_count = run_setup(explanation->run)->host_count;
    char used[MEMORY_TEXT_BYTES], whole[MEMORY_TEXT_BYTES];
    struct writing words = {0};
    memory_print(peak.used_bytes, peak.capacity_bytes, used);
    memory_print(peak.capacity_bytes, peak.capacity_bytes, whole);
    writing_append(&words, explain_device(explanation, moment->host).text);
    if (explanation->recording->view != IMPORT_SUMS) {
        writing_append_format(&words, " is fullest at op %" PRIu32 "%s", moment->op,
                              explain_step(explanation->steps, moment->op, ", ").text);
    } else if (host_count > 1) {
        writing_append(&words, " is fullest");
    }
    if (host_count > 1) {
        writing_append_format(&words, " (host %u of %u)", moment->host, host_count);
    }
    if (explain_capacity_is_assumed(explanation)) {
        writing_append_format(&words, ": %s. How much it has is not in the file.", used);
    } else {
        writing_append_format(&words, ": %s of %s (%" PRIu64 " %%)", used, whole,
                              memory_share(&peak) / 100);
    }
    facts_line(facts, "%s", "");
    facts_answer(facts, "%s", writing_string(&words));
    facts_line(facts, "%s", "");
    writing_deinit(&words);
}

void explain_peak(struct explanation *explanation)
{
    struct facts *facts = &explanation->facts;
    const struct moment *moment = &explanation->moment;
    if (!moment->is_taken) {
        return;
    }
    facts_open(facts, "peak");
    explain_add_op(facts, explanation->steps, moment->op);
    facts_count(facts, "host", moment->host);
    facts_size(facts, "in_use_bytes", moment->occupancy.in_use_bytes);
    facts_size(facts, "reserved_bytes", moment->occupancy.reserved_bytes);
    facts_size(facts, "capacity_bytes", moment->occupancy.capacity_bytes);
    explain_add_holders(explanation);
    facts_close(facts);
    say_peak(explanation);
    explain_holders(explanation, "Who holds memory then");
}
