#include "page/list_sections.h"

#include "harness/base/size.h"
#include "present/page/page.h"
#include "present/page/parts.h"
#include "recording/recording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Failures beyond this many are folded away. */
enum { FAILURE_FIRST_COUNT = 12 };

/* --- how it ended --- */

static uint64_t count_failures(const struct run_record *record, enum verdict_kind kind, bool is_oom)
{
    uint64_t count = 0;
    for (size_t i = 0; i < record->failure_count; i++) {
        count += record->failures[i].verdict.kind == kind && record->failures[i].is_oom == is_oom;
    }
    return count;
}

static void append_early_end(const struct list_run *run, struct writing *text)
{
    writing_append_format(text, "After %" PRIu32 " of %zu ops %s.", run->record->op_count,
                          run->recording.ops.count,
                          run->death[0] != '\0' ? run->death
                          : run->is_stopped     ? "the run was stopped by --trial-timeout"
                                                : "the run ended");
}

static void append_finding(const struct run_record *record, struct writing *text)
{
    const struct verdict *first = &record->first;
    writing_append_format(text, "Op %" PRIu32 " %s: %s.", first->op,
                          first->kind == VERDICT_PREMATURE  ? "ran out of memory too early"
                          : first->kind == VERDICT_DISPUTED ? "is judged in two ways"
                                                            : "broke a promise",
                          first->reason);
}

/* The class of the verdict. */
static const char *append_verdict(const struct list_run *run, struct writing *text)
{
    const struct run_record *record = run->record;
    const struct run_totals *totals = &record->totals;
    if (!record->is_done) {
        append_early_end(run, text);
        return "bad";
    }
    if (record->first.kind != VERDICT_NONE && record->first.kind != VERDICT_JUSTIFIED &&
        record->first.kind != VERDICT_UNKNOWN) {
        append_finding(record, text);
        return "bad";
    }
    if (totals->ooms == 0) {
        writing_append(text, "Every request was served, and every promise was kept.");
        return "good";
    }
    writing_append_format(
        text,
        "%" PRIu64 " out-of-memor%s: %" PRIu64 " justified, %" PRIu64 " unknown, %" PRIu64
        " not judged. %s",
        totals->ooms, totals->ooms == 1 ? "y" : "ies", totals->justified, totals->unknown,
        totals->ooms - totals->justified - totals->unknown - totals->premature - totals->disputed,
        totals->unknown > 0 ? "No promise was broken for certain." : "Every promise was kept.");
    return totals->unknown > 0 ? "warn" : "good";
}

static void append_head_line(const struct list_run *run, struct writing *html)
{
    struct writing text;
    writing_init(&text);
    const char *class = append_verdict(run, &text);
    writing_append_format(html, "<p class=\"verdict %s\">", class);
    page_append_text(html, writing_string(&text));
    writing_append(html, "</p>\n");
    writing_deinit(&text);
}

/* --- facts --- */

static void append_target(const struct setup *setup, struct writing *html)
{
    page_fact_begin(html, "Target");
    page_append_text(html, setup->target);
    for (uint32_t i = 0; i < setup->option_count; i++) {
        writing_append(html, " ");
        page_append_text(html, setup->options[i].key);
        writing_append(html, "=");
        page_append_text(html, setup->options[i].value);
    }
    page_fact_end(html);
}

static void append_device(const struct run_record *record, struct writing *html)
{
    page_fact_begin(html, "Device");
    if (record->setup.chip[0] != '\0') {
        page_append_text(html, record->setup.chip);
        writing_append(html, ", ");
    }
    page_append_size(html, record->setup.capacity_bytes);
    page_fact_end(html);
    page_fact_count(html, "Hosts", record->setup.host_count);
}

static void append_ooms(const struct run_record *record, struct writing *html)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_PREMATURE, VERDICT_UNKNOWN,
                                              VERDICT_DISPUTED};
    const struct run_totals *totals = &record->totals;
    const uint64_t counts[] = {totals->justified, totals->premature, totals->unknown,
                               totals->disputed};
    page_fact_begin(html, "Out of memory");
    if (record->is_done) {
        page_append_count(html, totals->ooms);
    } else {
        page_append_count(html, record->failure_count + record->failure_left_out_count);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const uint64_t count = record->is_done ? counts[i] : count_failures(record, kinds[i], true);
        if (count > 0) {
            writing_append_format(html, ", %" PRIu64 " %s", count, verdict_name(kinds[i]));
        }
    }
    page_fact_end(html);
}

static void append_peak(const struct list_run *run, struct writing *html)
{
    char name[DEVICE_NAME_BYTES];
    if (run->peak == RECORD_NONE) {
        return;
    }
    const struct record_op *op = &run->record->ops[run->peak];
    page_fact_begin(html, "Peak");
    page_append_size(html, op->in_use_bytes);
    writing_append_format(html, " at op %" PRIu32, op->op);
    if (run->record->setup.host_count > 1) {
        writing_append(html, " of ");
        page_append_text(html, device_name(&run->recording, run->peak_host, name));
    }
    page_fact_end(html);
}

void list_sections_head(const struct list_run *run, struct writing *html)
{
    const struct run_record *record = run->record;
    const struct setup *setup = &record->setup;
    append_head_line(run, html);
    page_facts_begin(html);
    page_fact(html, "File", run->path);
    page_fact(html, "Format", run->recording.format == NULL ? "ops" : run->recording.format->name);
    append_target(setup, html);
    append_device(record, html);
    if (setup->scenario[0] != '\0') {
        page_fact(html, "Scenario", setup->scenario);
    }
    page_fact_begin(html, "Seed"); /* to be typed again: no commas */
    writing_append_number(html, setup->seed);
    page_fact_end(html);
    page_fact_begin(html, "Ops");
    page_append_count(html, record->op_count);
    if (record->op_count < run->recording.ops.count && !record->has_lanes) {
        writing_append(html, " of ");
        page_append_count(html, run->recording.ops.count);
    }
    page_fact_end(html);
    append_ooms(record, html);
    append_peak(run, html);
    if (run->signature[0] != '\0') {
        page_fact(html, "How it ended", run->signature);
    }
    page_facts_end(html);
    list_sections_assumed(run, html);
}

void list_sections_assumed(const struct list_run *run, struct writing *html)
{
    const char *fact = run->recording.assumed;
    if (fact[0] == '\0') {
        return;
    }
    writing_append(html,
                   "<details><summary>Assumed, as the file does not say it</summary>\n<ul>\n");
    while (*fact != '\0') {
        char line[IMPORT_NOTES_BYTES];
        const size_t length = strcspn(fact, "\n");
        memcpy(line, fact, length);
        line[length] = '\0';
        writing_append(html, "<li>");
        page_append_text(html, line);
        writing_append(html, "</li>\n");
        fact += length + (fact[length] == '\n');
    }
    writing_append(html, "</ul></details>\n");
}

/* --- pictures --- */

void list_sections_pictures(const struct list_run *run, const char *data, const char *against,
                            struct writing *html)
{
    page_section_begin(html, "map", "Memory map");
    writing_append_format(html, "<div class=\"map\" data-run=\"%s\"></div>\n", data);
    if (run->record->op_count == 0) {
        page_append_note(html, "No op was run: there is no map.");
    } else if (!run->record->has_places) {
        page_append_note(html, "This target does not say where blocks lie: there is no map.");
    }
    writing_append(html, "<noscript><p class=\"note\">Scripts draw the map, the curves and who "
                         "holds memory; they are off.</p></noscript>\n");
    page_section_end(html);
    page_section_begin(html, "curves", "Memory over time");
    writing_append_format(html, "<div class=\"curves\" data-run=\"%s\"", data);
    if (against != NULL) {
        writing_append_format(html, " data-against=\"%s\"", against);
    }
    writing_append(html, "></div>\n");
    if (!page_has_curves()) {
        page_append_note(html,
                         "Curves are left out: this build has no uPlot (ci/setup fetches it).");
    }
    page_section_end(html);
    page_section_begin(html, "holders", "Who holds memory at the peak");
    writing_append_format(html, "<div class=\"flame\" data-run=\"%s\"></div>\n", data);
    page_section_end(html);
}

/* --- failures --- */

static void append_failure(const struct list_run *run, const struct record_failure *failure,
                           struct writing *html)
{
    const struct verdict *verdict = &failure->verdict;
    const bool has_rule = verdict->kind == VERDICT_BROKEN;
    char name[WRITING_DIGIT_COUNT_MAX + 1];
    snprintf(name, sizeof name, "%" PRIu32, run->record->ops[failure->turn].op);
    page_row_begin(html, name);
    page_cell(html, !failure->is_judged ? "not judged"
                    : has_rule          ? rule_info(verdict->rule)->name
                                        : verdict_name(verdict->kind));
    page_cell_size(html, failure->requested_bytes);
    page_cell_size(html, failure->free_bytes);
    page_cell_size(html, failure->largest_hole_bytes);
    page_cell(html, failure->is_judged ? verdict->reason : "a block was in host memory");
    page_cell(html, failure->message);
    page_row_end(html);
}

static void append_failures(const struct list_run *run, size_t first, size_t end,
                            struct writing *html)
{
    page_table_begin(html, "Each out-of-memory and broken promise",
                     "#op|verdict|#requested|#free|#largest hole|reason|message");
    for (size_t i = first; i < end; i++) {
        append_failure(run, &run->record->failures[i], html);
    }
    page_table_end(html);
}

void list_sections_failures(const struct list_run *run, struct writing *html)
{
    const struct run_record *record = run->record;
    const size_t count = record->failure_count;
    const size_t first_count = count < FAILURE_FIRST_COUNT ? count : FAILURE_FIRST_COUNT;
    if (count == 0) {
        return;
    }
    page_section_begin(html, "failures", "Failures");
    append_failures(run, 0, first_count, html);
    if (count > first_count) {
        writing_append_format(html, "<details><summary>%zu more</summary>\n", count - first_count);
        append_failures(run, first_count, count, html);
        writing_append(html, "</details>\n");
    }
    if (record->failure_left_out_count > 0) {
        writing_append_format(html, "<p class=\"note\">%" PRIu64 " more are only counted.</p>\n",
                              record->failure_left_out_count);
    }
    page_section_end(html);
}

/* --- tables --- */

static void append_op_mix(const struct run_record *record, struct writing *html)
{
    uint64_t counts[OP_KIND_COUNT] = {0};
    uint64_t skipped[OP_KIND_COUNT] = {0};
    for (uint32_t i = 0; i < record->op_count; i++) {
        counts[record->ops[i].kind]++;
        skipped[record->ops[i].kind] += record->ops[i].result == RECORD_SKIPPED;
    }
    page_table_begin(html, "Ops by kind", "kind|#ops|#skipped|#share skipped");
    for (int kind = 0; kind < OP_KIND_COUNT; kind++) {
        if (counts[kind] == 0) {
            continue;
        }
        page_row_begin(html, op_kind_info((enum op_kind)kind)->name);
        page_cell_count(html, counts[kind]);
        page_cell_count(html, skipped[kind]);
        page_cell_share(html, skipped[kind], counts[kind]);
        page_row_end(html);
    }
    page_table_end(html);
}

static void append_mitigations(const struct run_record *record, struct writing *html)
{
    static const char *const names[] = {"drain", "move", "eviction", "move through host memory"};
    uint64_t counts[RECORD_STAGING + 1] = {0};
    uint64_t bytes[RECORD_STAGING + 1] = {0};
    for (size_t i = 0; i < record->mark_count; i++) {
        counts[record->marks[i].kind]++;
        bytes[record->marks[i].kind] += record->marks[i].size_bytes;
    }
    if (record->mark_count == 0) {
        page_append_note(html, "No request needed a mitigation.");
        return;
    }
    page_table_begin(html, "Mitigations and what they moved", "mitigation|#times|#bytes");
    for (size_t kind = 0; kind < sizeof names / sizeof *names; kind++) {
        page_row_begin(html, names[kind]);
        page_cell_count(html, counts[kind]);
        page_cell_size(html, bytes[kind]);
        page_row_end(html);
    }
    page_table_end(html);
    if (record->mark_left_out_count > 0) {
        writing_append_format(html,
                              "<p class=\"note\">%" PRIu64 " more are not counted here.</p>\n",
                              record->mark_left_out_count);
    }
}

struct holder {
    uint64_t bytes;
    unsigned tag;
};

static int compare_holders(const void *a, const void *b)
{
    const struct holder *x = a;
    const struct holder *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    return (x->tag > y->tag) - (x->tag < y->tag);
}

static void append_holder(struct writing *html, const char *name, uint64_t count, uint64_t bytes,
                          uint64_t whole)
{
    if (bytes == 0) {
        return;
    }
    page_row_begin(html, name);
    page_cell_count(html, count);
    page_cell_size(html, bytes);
    page_cell_share(html, bytes, whole);
    page_row_end(html);
}

static void append_holders(const struct list_run *run, struct writing *html)
{
    const struct run_holders *holders = &run->holders;
    struct holder order[OP_TAG_COUNT];
    uint64_t whole = holders->stack_bytes + holders->retired_bytes;
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        order[tag] = (struct holder){holders->bytes[tag], tag};
        whole += holders->bytes[tag];
    }
    qsort(order, OP_TAG_COUNT, sizeof *order, compare_holders);
    page_table_begin(html, "Tags at the peak", "tag|#blocks|#bytes|#share");
    for (unsigned i = 0; i < OP_TAG_COUNT; i++) {
        char name[SETUP_NAME_BYTES];
        const uint8_t tag = (uint8_t)order[i].tag;
        append_holder(html, setup_tag_name(&run->record->setup, tag, name), holders->counts[tag],
                      order[i].bytes, whole);
    }
    append_holder(html, "stack", 1, holders->stack_bytes, whole);
    append_holder(html, "retired", holders->retired_count, holders->retired_bytes, whole);
    page_table_end(html);
}

void list_sections_tables(const struct list_run *run, struct writing *html)
{
    page_section_begin(html, "tables", "Tables");
    if (run->peak != RECORD_NONE) {
        append_holders(run, html);
    }
    append_mitigations(run->record, html);
    append_op_mix(run->record, html);
    page_section_end(html);
}
