#include "harness/base/order.h"
#include "harness/base/size.h"
#include "page/list_page.h"
#include "present/page/page.h"
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

/* The class of the verdict. */
static const char *append_verdict(const struct list_run *run, struct writing *text)
{
    const struct run_record *record = run->record;
    const struct run_totals *totals = &record->totals;
    const struct verdict *first = &record->first;
    if (!record->is_done) {
        writing_append_format(text, "After %" PRIu32 " of %zu ops %s.", record->op_count,
                              run->recording.ops.count,
                              run->death[0] != '\0' ? run->death
                              : run->is_stopped     ? "the run was stopped by --trial-timeout"
                                                    : "the run ended");
        return "bad";
    }
    if (first->kind != VERDICT_NONE && first->kind != VERDICT_JUSTIFIED &&
        first->kind != VERDICT_UNKNOWN) {
        writing_append_format(text, "Op %" PRIu32 " %s: %s.", first->op,
                              first->kind == VERDICT_PREMATURE  ? "ran out of memory too early"
                              : first->kind == VERDICT_DISPUTED ? "is judged in two ways"
                                                                : "broke a promise",
                              first->reason);
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
        totals->ooms, plural(totals->ooms, "y", "ies"), totals->justified, totals->unknown,
        totals->ooms - totals->justified - totals->unknown - totals->premature - totals->disputed,
        totals->unknown > 0 ? "No promise was broken for certain." : "Every promise was kept.");
    return totals->unknown > 0 ? "warn" : "good";
}

/* --- facts --- */

static void append_target(const struct setup *setup, struct writing *html)
{
    struct writing options = {0};
    for (uint32_t i = 0; i < setup->option_count; i++) {
        writing_append_format(&options, " %s=%s", setup->options[i].key, setup->options[i].value);
    }
    page_fact(html, "Target", "%s%s", setup->target, writing_string(&options));
    writing_deinit(&options);
}

static void append_ooms(const struct run_record *record, struct writing *html)
{
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_PREMATURE, VERDICT_UNKNOWN,
                                              VERDICT_DISPUTED};
    const struct run_totals *totals = &record->totals;
    const uint64_t counts[] = {totals->justified, totals->premature, totals->unknown,
                               totals->disputed};
    const uint64_t all = record->is_done ? totals->ooms
                                         : record->failure_count + record->failure_left_out_count;
    struct writing words = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const uint64_t count = record->is_done ? counts[i] : count_failures(record, kinds[i], true);
        if (count > 0) {
            writing_append_format(&words, ", %" PRIu64 " %s", count, verdict_name(kinds[i]));
        }
    }
    page_fact(html, "Out of memory", "%s%s", page_count(all).text, writing_string(&words));
    writing_deinit(&words);
}

static void append_peak(const struct list_run *run, struct writing *html)
{
    char name[DEVICE_NAME_BYTES] = "";
    if (run->peak == RECORD_NONE) {
        return;
    }
    const struct record_op *op = &run->record->ops[run->peak];
    const bool has_hosts = run->record->setup.host_count > 1;
    page_fact(html, "Peak", "%s at op %" PRIu32 "%s%s", page_size(op->in_use_bytes).text, op->op,
              has_hosts ? " of " : "",
              has_hosts ? device_name(&run->recording, run->peak_host, name) : "");
}

/* What the importer assumed, a line each; nothing if it assumed nothing. */
static void append_assumed(const char *assumed, struct writing *html)
{
    if (assumed[0] == '\0') {
        return;
    }
    writing_append(html,
                   "<details><summary>Assumed, as the file does not say it</summary>\n<ul>\n");
    while (*assumed != '\0') {
        char line[IMPORT_NOTES_BYTES];
        const size_t length = strcspn(assumed, "\n");
        memcpy(line, assumed, length);
        line[length] = '\0';
        page_print(html, "<li>%s</li>\n", line);
        assumed += length + (assumed[length] == '\n');
    }
    writing_append(html, "</ul></details>\n");
}

static void append_facts(const struct list_run *run, struct writing *html)
{
    const struct run_record *record = run->record;
    const struct setup *setup = &record->setup;
    const size_t count = run->recording.ops.count;
    const bool is_part = record->op_count < count && !record->has_lanes;
    writing_append(html, PAGE_FACTS);
    page_fact(html, "File", "%s", run->path);
    page_fact(html, "Format", "%s",
              run->recording.format == NULL ? "ops" : run->recording.format->name);
    append_target(setup, html);
    page_fact(html, "Device", "%s%s%s", setup->chip, setup->chip[0] == '\0' ? "" : ", ",
              page_size(setup->capacity_bytes).text);
    page_fact(html, "Hosts", "%s", page_count(setup->host_count).text);
    if (setup->scenario[0] != '\0') {
        page_fact(html, "Scenario", "%s", setup->scenario);
    }
    page_fact(html, "Seed", "%" PRIu64, setup->seed); /* to be typed again: no commas */
    page_fact(html, "Ops", "%s%s%s", page_count(record->op_count).text, is_part ? " of " : "",
              is_part ? page_count(count).text : "");
    append_ooms(record, html);
    append_peak(run, html);
    if (run->signature[0] != '\0') {
        page_fact(html, "How it ended", "%s", run->signature);
    }
    writing_append(html, PAGE_FACTS_END);
}

void list_sections_head(const struct list_run *run, struct writing *html)
{
    struct writing text = {0};
    const char *class = append_verdict(run, &text);
    page_print(html, "<p class=\"verdict %s\">%s</p>\n", class, writing_string(&text));
    writing_deinit(&text);
    append_facts(run, html);
    append_assumed(run->recording.assumed, html);
}

/* --- pictures --- */

void list_sections_pictures(const struct list_run *run, const char *data, const char *against,
                            struct writing *html)
{
    page_section_begin(html, "map", "Memory map");
    page_print(html, "<div class=\"map\" data-run=\"%s\"></div>\n", data);
    if (run->record->op_count == 0) {
        page_note(html, "No op was run: there is no map.");
    } else if (!run->record->has_places) {
        page_note(html, "This target does not say where blocks lie: there is no map.");
    }
    writing_append(html, "<noscript><p class=\"note\">Scripts draw the map, the curves and who "
                         "holds memory; they are off.</p></noscript>\n");
    page_section_end(html);
    page_section_begin(html, "curves", "Memory over time");
    page_print(html, "<div class=\"curves\" data-run=\"%s\"", data);
    if (against != NULL) {
        page_print(html, " data-against=\"%s\"", against);
    }
    writing_append(html, "></div>\n");
    if (!page_has_curves()) {
        page_note(html, "Curves are left out: this build has no uPlot (ci/setup fetches it).");
    }
    page_section_end(html);
    page_section_begin(html, "holders", "Who holds memory at the peak");
    page_print(html, "<div class=\"flame\" data-run=\"%s\"></div>\n", data);
    page_section_end(html);
}

/* --- failures --- */

static void append_failures(const struct list_run *run, size_t first, size_t end,
                            struct writing *html)
{
    page_table_begin(html, "Each out-of-memory and broken promise",
                     "#op|verdict|#requested|#free|#largest hole|reason|message");
    for (size_t i = first; i < end; i++) {
        const struct record_failure *failure = &run->record->failures[i];
        const struct verdict *verdict = &failure->verdict;
        page_row(
            html, "%" PRIu32 "|%s|#%s|#%s|#%s|%s|%s", run->record->ops[failure->turn].op,
            !failure->is_judged               ? "not judged"
            : verdict->kind == VERDICT_BROKEN ? rule_info(verdict->rule)->name
                                              : verdict_name(verdict->kind),
            size_text_of(failure->requested_bytes).text, size_text_of(failure->free_bytes).text,
            size_text_of(failure->largest_hole_bytes).text,
            failure->is_judged ? verdict->reason : "a block was in host memory", failure->message);
    }
    writing_append(html, PAGE_TABLE_END);
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
        page_print(html, "<details><summary>%zu more</summary>\n", count - first_count);
        append_failures(run, first_count, count, html);
        writing_append(html, "</details>\n");
    }
    if (record->failure_left_out_count > 0) {
        page_note(html, "%" PRIu64 " more are only counted.", record->failure_left_out_count);
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
        page_row(html, "%s|#%s|#%s|#%s", op_kind_info((enum op_kind)kind)->name,
                 page_count(counts[kind]).text, page_count(skipped[kind]).text,
                 page_share(skipped[kind], counts[kind]).text);
    }
    writing_append(html, PAGE_TABLE_END);
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
        page_note(html, "No request needed a mitigation.");
        return;
    }
    page_table_begin(html, "Mitigations and what they moved", "mitigation|#times|#bytes");
    for (size_t kind = 0; kind < sizeof names / sizeof *names; kind++) {
        page_row(html, "%s|#%s|#%s", names[kind], page_count(counts[kind]).text,
                 size_text_of(bytes[kind]).text);
    }
    writing_append(html, PAGE_TABLE_END);
    if (record->mark_left_out_count > 0) {
        page_note(html, "%" PRIu64 " more are not counted here.", record->mark_left_out_count);
    }
}

struct tag_holder {
    uint64_t bytes;
    unsigned tag;
};

/* Who holds most comes first. */
static int compare_holders(const void *a, const void *b)
{
    const struct tag_holder *x = a, *y = b;
    return compare_then(compare_numbers(y->bytes, x->bytes), compare_numbers(x->tag, y->tag));
}

static void append_holder(struct writing *html, const char *name, uint64_t count, uint64_t bytes,
                          uint64_t whole)
{
    if (bytes > 0) {
        page_row(html, "%s|#%s|#%s|#%s", name, page_count(count).text, size_text_of(bytes).text,
                 page_share(bytes, whole).text);
    }
}

static void append_holders(const struct list_run *run, struct writing *html)
{
    const struct run_holders *holders = &run->holders;
    struct tag_holder order[OP_TAG_COUNT];
    uint64_t whole = holders->stack_bytes + holders->retired_bytes;
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        order[tag] = (struct tag_holder){holders->bytes[tag], tag};
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
    writing_append(html, PAGE_TABLE_END);
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
