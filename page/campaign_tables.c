#include "page/campaign_sections.h"
#include "present/page/page.h"
#include "present/page/parts.h"

#include <string.h>

enum { ROW_COUNT_MAX = 500, WORDS_BYTES_MAX = 1000 };

/* --- of the jobs --- */

enum cell_kind { CELL_COUNT, CELL_SIZE, CELL_SKIPPED };

struct cell {
    const char *member;
    enum cell_kind kind;
};

static void append_cell(struct writing *html, const json_t *part, const struct cell *cell)
{
    const uint64_t count = member_number(part, cell->member);
    switch (cell->kind) {
    case CELL_COUNT:
        page_cell_count(html, count);
        break;
    case CELL_SIZE:
        page_cell_size(html, count);
        break;
    case CELL_SKIPPED:
        page_cell_share(html, count, count + member_number(part, "ops"));
        break;
    }
}

static void append_parts(struct writing *html, const struct campaign_lines *lines,
                         const char *caption, const char *columns, const struct cell *cells,
                         size_t cell_count)
{
    const char *name;
    const json_t *part;
    size_t row_count = 0;
    page_table_begin(html, caption, columns);
    json_object_foreach(lines->parts, name, part)
    {
        if (row_count++ >= ROW_COUNT_MAX) {
            continue;
        }
        page_row_begin(html, name);
        for (size_t i = 0; i < cell_count; i++) {
            append_cell(html, part, &cells[i]);
        }
        page_row_end(html);
    }
    page_table_end(html);
    if (row_count > ROW_COUNT_MAX) {
        page_append_note(html, "More jobs than these 500 are left out.");
    }
}

static void append_verdicts(struct writing *html, const struct campaign_lines *lines)
{
    static const struct cell cells[] = {
        {"trials", CELL_COUNT},  {"ops", CELL_COUNT},       {"skipped", CELL_SKIPPED},
        {"ooms", CELL_COUNT},    {"justified", CELL_COUNT}, {"premature", CELL_COUNT},
        {"unknown", CELL_COUNT}, {"excused", CELL_COUNT},   {"broken", CELL_COUNT},
    };
    append_parts(
        html, lines, "Jobs by verdict",
        "job|#trials|#ops|#skipped|#OOMs|#justified|#premature|#unknown|#not judged|#broken", cells,
        sizeof cells / sizeof *cells);
}

static void append_mitigations(struct writing *html, const struct campaign_lines *lines)
{
    static const struct cell cells[] = {
        {"drains", CELL_COUNT},   {"moves", CELL_COUNT},     {"moved_bytes", CELL_SIZE},
        {"stagings", CELL_COUNT}, {"evictions", CELL_COUNT},
    };
    append_parts(html, lines, "Mitigations by job",
                 "job|#drains|#moves|#moved|#stagings|#evictions", cells,
                 sizeof cells / sizeof *cells);
}

/* --- costs --- */

static void append_cost(struct writing *html, const json_t *cost, bool is_size)
{
    static const char *const members[] = {"p50", "p99", "max"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const uint64_t number = member_number(cost, members[i]);
        if (is_size) {
            page_cell_size(html, number);
        } else {
            page_cell_count(html, number);
        }
    }
    page_cell(html, member_text(cost, "growth"));
}

static void append_costs(struct writing *html, const struct campaign_lines *lines)
{
    const char *name;
    const json_t *part;
    size_t row_count = 0;
    json_object_foreach(lines->parts, name, part)
    {
        const json_t *costs = json_object_get(part, "costs");
        if (costs == NULL || row_count == ROW_COUNT_MAX) {
            continue;
        }
        if (row_count++ == 0) {
            page_table_begin(html, "What an op cost: device calls, and bytes moved",
                             "job|#calls p50|#p99|#max|growth|#moved p50|#p99|#max|growth");
        }
        page_row_begin(html, name);
        append_cost(html, json_object_get(costs, "calls"), false);
        append_cost(html, json_object_get(costs, "moved_bytes"), true);
        page_row_end(html);
    }
    if (row_count > 0) {
        page_table_end(html);
    }
}

/* --- sums over all jobs --- */

/* Adds the numbers of an object that each part has under that name. */
static json_t *sum_parts(const struct campaign_lines *lines, const char *member)
{
    const char *name, *key;
    const json_t *part, *value;
    json_t *sums = json_object();
    json_object_foreach(lines->parts, name, part)
    {
        json_object_foreach(json_object_get(part, member), key, value)
        {
            if (json_object_size(sums) < ROW_COUNT_MAX) {
                const json_int_t sum = (json_int_t)((member_number(sums, key) +
                                                     member_number(json_object_get(part, member),
                                                                   key)) &
                                                    (UINT64_MAX >> 1));
                (void)json_object_set_new(sums, key, json_integer(sum));
            }
        }
    }
    return sums;
}

static void append_mix(struct writing *html, const struct campaign_lines *lines)
{
    json_t *acted = sum_parts(lines, "by_kind"), *skipped = sum_parts(lines, "skipped_by_kind");
    const char *kind;
    const json_t *value;
    const uint64_t ops = member_number(lines->totals, "ops");
    json_object_foreach(skipped, kind, value)
    {
        if (json_object_get(acted, kind) == NULL) {
            (void)json_object_set_new(acted, kind, json_integer(0));
        }
    }
    if (json_object_size(acted) > 0) {
        page_table_begin(html, "Ops by kind", "op|#acted|#share|#skipped|#share skipped");
    }
    json_object_foreach(acted, kind, value)
    {
        const uint64_t count = member_number(acted, kind), left = member_number(skipped, kind);
        page_row_begin(html, kind);
        page_cell_count(html, count);
        page_cell_share(html, count, ops);
        page_cell_count(html, left);
        page_cell_share(html, left, count + left);
        page_row_end(html);
    }
    if (json_object_size(acted) > 0) {
        page_table_end(html);
    }
    json_decref(acted);
    json_decref(skipped);
}

static void append_probes(struct writing *html, const struct campaign_lines *lines)
{
    json_t *probes = json_object_get(lines->totals, "probes");
    const char *name;
    const json_t *value;
    struct writing missed;
    size_t missed_count = 0;
    if (json_object_size(probes) == 0) {
        return;
    }
    writing_init(&missed);
    json_object_foreach(probes, name, value)
    {
        if (member_number(probes, name) == 0) {
            writing_append(&missed, missed_count++ == 0 ? "" : ", ");
            writing_append(&missed, name);
        }
    }
    writing_append(html, "<h3>States reached</h3>\n<p>");
    page_append_count(html, json_object_size(probes) - missed_count);
    writing_append(html, " of ");
    page_append_count(html, json_object_size(probes));
    writing_append(html, " states worth reaching were reached.</p>\n");
    if (missed_count > 0) {
        writing_append(html, "<p>Never: ");
        page_append_cut(html, writing_string(&missed), 4 * WORDS_BYTES_MAX);
        writing_append(html, "</p>\n");
    }
    writing_deinit(&missed);
}

static void append_regret(struct writing *html, const struct campaign_lines *lines)
{
    json_t *regret = json_object_get(lines->totals, "regret");
    const char *name;
    const json_t *value;
    size_t row_count = 0;
    if (member_number(regret, "requests") == 0) {
        return; /* a table of zeros says nothing */
    }
    page_table_begin(html, "Regret: requests that a cheaper plan would have served",
                     "what cost more than necessary|#count");
    json_object_foreach(regret, name, value)
    {
        const size_t length = strlen(name);
        if (row_count++ == ROW_COUNT_MAX) {
            break;
        }
        const bool is_size = length > 6 && strcmp(name + length - 6, "_bytes") == 0;
        page_row_begin(html, name);
        if (is_size) {
            page_cell_size(html, member_number(regret, name));
        } else {
            page_cell_count(html, member_number(regret, name));
        }
        page_row_end(html);
    }
    page_table_end(html);
}

static void append_notes(struct writing *html, const struct campaign_lines *lines)
{
    const char *name;
    const json_t *part;
    size_t row_count = 0;
    json_object_foreach(lines->parts, name, part)
    {
        if (member_text(part, "note")[0] == '\0' || row_count++ >= ROW_COUNT_MAX) {
            continue;
        }
        writing_append(html, "<p class=\"note\">");
        page_append_cut(html, name, WORDS_BYTES_MAX);
        writing_append(html, ": ");
        page_append_cut(html, member_text(part, "note"), WORDS_BYTES_MAX);
        writing_append(html, "</p>\n");
    }
}

/* Appends the table of a sweep, which has no jobs. */
static void append_sweeps(struct writing *html, const struct campaign_lines *lines)
{
    static const char *const members[] = {"calls",      "failed_once", "failed_for_ever",
                                          "ops_failed", "ooms",        "findings"};
    const json_t *sweep;
    size_t i;
    page_table_begin(
        html, "Device calls that were made to fail",
        "scenario|kind of call|#calls|#failed once|#failed forever|#ops that failed|#OOMs|#findings");
    json_array_foreach(lines->sweeps, i, sweep)
    {
        if (i >= ROW_COUNT_MAX) {
            break;
        }
        page_row_begin(html, member_text(sweep, "scenario"));
        page_cell(html, member_text(sweep, "kind"));
        for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
            page_cell_count(html, member_number(sweep, members[k]));
        }
        page_row_end(html);
    }
    page_table_end(html);
}

void campaign_tables(struct writing *html, const struct campaign_lines *lines)
{
    page_section_begin(html, "tables", "What was run");
    if (json_array_size(lines->sweeps) > 0) {
        append_sweeps(html, lines);
        page_section_end(html);
        return;
    }
    append_verdicts(html, lines);
    append_notes(html, lines);
    if (lines->end != NULL) {
        append_mitigations(html, lines);
        append_costs(html, lines);
        append_mix(html, lines);
        append_regret(html, lines);
        append_probes(html, lines);
        campaign_rules(html, lines);
    } else {
        page_append_note(html, "Mitigations, costs, ops by kind and states reached are there when "
                               "the campaign has ended.");
    }
    page_section_end(html);
}
