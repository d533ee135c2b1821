/* Tables of what a campaign ran: its jobs, why memory ran out, memory in use, the rules. */
#include "campaign/base/file.h"
#include "harness/base/size.h"
#include "harness/oracle/rule.h"
#include "page/campaign_page.h"
#include "present/memory_chart.h"
#include "present/page/pictures.h"

#include <inttypes.h>
#include <string.h>

enum { ROW_COUNT_MAX = 500, COLUMN_COUNT_MAX = 10, CERTIFICATE_BYTES_MAX = 16 << 20 };
/* Above those of findings, which have two each. */
enum { FIRST_PICTURE = 1000 };
#define WORDS "%.1000s"

/* --- tables of lines --- */

/* titles: of the name of the row and of each member, as page_table_begin() has them.  Where '#'
 * stands before a title the member is a number, of bytes if its name says so.  A dot leads to the
 * member of a member; '%' stands before a member of which its share of all ops is shown, and '@'
 * for the op, the trial and the job. */
struct lines_table {
    const char *caption, *titles;
    const char *members[COLUMN_COUNT_MAX];
};

static const struct lines_table
    verdicts =
        {"Jobs by verdict",
         "job|#trials|#ops|#skipped|#OOMs|#justified|#premature|#unknown|#not judged|#broken",
         {"trials", "ops", "%skipped", "ooms", "justified", "premature", "unknown", "excused",
          "broken"}},
    mitigations = {"Mitigations by job",
                   "job|#drains|#moves|#moved|#stagings|#evictions",
                   {"drains", "moves", "moved_bytes", "stagings", "evictions"}},
    costs = {"What an op cost: device calls, and bytes moved",
             "job|#calls p50|#p99|#max|growth|#moved p50|#p99|#max|growth",
             {"costs.calls.p50", "costs.calls.p99", "costs.calls.max", "costs.calls.growth",
              "costs.moved_bytes.p50", "costs.moved_bytes.p99", "costs.moved_bytes.max",
              "costs.moved_bytes.growth"}},
    causes = {"Causes, as the diagnosis sees them in the lists that were saved",
              "cause|#lists|#justified|#premature|#unknown|an example|seen at",
              {"count", "justified", "premature", "unknown", "text", "@"}},
    sweeps = {
        "Device calls that were made to fail",
        "scenario|kind of call|#calls|#failed once|#failed forever|#ops that failed|#OOMs|"
        "#findings",
        {"kind", "calls", "failed_once", "failed_for_ever", "ops_failed", "ooms", "findings"}};

static void append_place(struct writing *html, const json_t *line)
{
    page_print(html, "op %" PRIu64 " of trial %" PRIu64 " of " WORDS, member_number(line, "op"),
               member_number(line, "trial"), member_text(line, "scenario"));
}

static void append_number(struct writing *html, const char *name, uint64_t number)
{
    const bool is_size = strstr(name, "_bytes") != NULL;
    page_cell(html, true, "%s", is_size ? size_text_of(number).text : page_count(number).text);
}

static void append_member(struct writing *html, const json_t *row, const char *path, bool is_number)
{
    const json_t *object = row;
    const char *name = path;
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(name, '.')) {
        char of[32];
        snprintf(of, sizeof of, "%.*s", (int)(dot - name), name);
        object = json_object_get(object, of);
        name = dot + 1;
    }
    if (path[0] == '@') {
        writing_append(html, "<td>");
        append_place(html, row);
        writing_append(html, "</td>");
    } else if (path[0] == '%') {
        const uint64_t part = member_number(row, path + 1);
        page_cell(html, true, "%s", page_share(part, part + member_number(row, "ops")).text);
    } else if (is_number) {
        append_number(html, path, member_number(object, name));
    } else {
        page_cell(html, false, WORDS, member_text(object, name));
    }
}

static void append_row(struct writing *html, const struct lines_table *table, const char *name,
                       const json_t *row)
{
    const char *title = strchr(table->titles, '|');
    page_row_begin(html, name);
    for (size_t i = 0; title != NULL; i++, title = strchr(title + 1, '|')) {
        append_member(html, row, table->members[i], title[1] == '#');
    }
    writing_append(html, PAGE_ROW_END);
}

/* Appends a table with a row for each of the objects that has that member. */
static void append_table(struct writing *html, const struct lines_table *table, json_t *objects,
                         const char *needed)
{
    const char *name;
    json_t *object;
    size_t row_count = 0;
    json_object_foreach(objects, name, object)
    {
        if (needed != NULL && json_object_get(object, needed) == NULL) {
            continue;
        }
        if (row_count++ == 0) {
            page_table_begin(html, table->caption, table->titles);
        }
        if (row_count <= ROW_COUNT_MAX) {
            append_row(html, table, name, object);
        }
    }
    writing_append(html, row_count > 0 ? PAGE_TABLE_END : "");
    if (row_count > ROW_COUNT_MAX) {
        page_note(html, "More rows than these 500 are left out.");
    }
}

/* Appends the table of a sweep, which has no jobs. */
static void append_sweeps(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *sweep;
    size_t i;
    page_table_begin(html, sweeps.caption, sweeps.titles);
    json_array_foreach(lines->sweeps, i, sweep)
    {
        if (i < ROW_COUNT_MAX) {
            append_row(html, &sweeps, member_text(sweep, "scenario"), sweep);
        }
    }
    writing_append(html, PAGE_TABLE_END);
}

/* --- sums over all jobs --- */

/* Adds to sums the numbers of an object that each part has under that name. */
static json_t *sum_parts(const struct campaign_lines *lines, const char *member)
{
    const char *name, *key;
    json_t *part, *value, *sums = json_object();
    json_object_foreach(lines->parts, name, part)
    {
        json_t *numbers = json_object_get(part, member);
        json_object_foreach(numbers, key, value)
        {
            if (json_object_size(sums) < ROW_COUNT_MAX) {
                member_add(sums, key, member_number(numbers, key));
            }
        }
    }
    return sums;
}

static void append_mix(struct writing *html, const struct campaign_lines *lines)
{
    json_t *acted = sum_parts(lines, "by_kind"), *skipped = sum_parts(lines, "skipped_by_kind");
    const char *kind;
    json_t *value;
    const uint64_t ops = member_number(lines->totals, "ops");
    json_object_foreach(skipped, kind, value)
    {
        member_add(acted, kind, 0);
    }
    if (json_object_size(acted) > 0) {
        page_table_begin(html, "Ops by kind", "op|#acted|#share|#skipped|#share skipped");
        json_object_foreach(acted, kind, value)
        {
            const uint64_t count = member_number(acted, kind), left = member_number(skipped, kind);
            page_row(html, "%s|#%s|#%s|#%s|#%s", kind, page_count(count).text,
                     page_share(count, ops).text, page_count(left).text,
                     page_share(left, count + left).text);
        }
        writing_append(html, PAGE_TABLE_END);
    }
    json_decref(acted);
    json_decref(skipped);
}

static void append_probes(struct writing *html, const struct campaign_lines *lines)
{
    json_t *probes = json_object_get(lines->totals, "probes"), *value;
    const size_t count = json_object_size(probes);
    const char *name;
    struct writing missed = {0};
    size_t missed_count = 0;
    json_object_foreach(probes, name, value)
    {
        if (member_number(probes, name) == 0) {
            writing_append_format(&missed, "%s%s", missed_count++ == 0 ? "" : ", ", name);
        }
    }
    if (count > 0) {
        page_print(html,
                   "<h3>States reached</h3>\n<p>%s of %s states worth reaching were reached.</p>\n",
                   page_count(count - missed_count).text, page_count(count).text);
    }
    if (missed_count > 0) {
        page_print(html, "<p>Never: %s</p>\n", writing_string(&missed));
    }
    writing_deinit(&missed);
}

static void append_regret(struct writing *html, const struct campaign_lines *lines)
{
    json_t *regret = json_object_get(lines->totals, "regret"), *value;
    const char *name;
    size_t row_count = 0;
    if (member_number(regret, "requests") == 0) {
        return; /* a table of zeros says nothing */
    }
    page_table_begin(html, "Regret: requests that a cheaper plan would have served",
                     "what cost more than necessary|#count");
    json_object_foreach(regret, name, value)
    {
        if (row_count++ < ROW_COUNT_MAX) {
            page_row_begin(html, name);
            append_number(html, name, member_number(regret, name));
            writing_append(html, PAGE_ROW_END);
        }
    }
    writing_append(html, PAGE_TABLE_END);
}

static void append_notes(struct writing *html, const struct campaign_lines *lines)
{
    const char *name;
    json_t *part;
    size_t row_count = 0;
    json_object_foreach(lines->parts, name, part)
    {
        const char *note = member_text(part, "note");
        if (note[0] != '\0' && row_count++ < ROW_COUNT_MAX) {
            page_note(html, WORDS ": " WORDS, name, note);
        }
    }
}

/* --- the rules --- */

/* An occasion on which rules are judged.  The lines of a campaign count these, not the rules: a
 * rule is judged on each, as far as the contract promises it. */
struct occasion {
    const char *name;
    const char *counts[8]; /* members of the sums over all jobs, added up; none: nobody counts it */
    enum rule rules[10];
};

/* The last one is that of all other rules. */
static const struct occasion occasions[] = {
    {"every op",
     {"ops"},
     {RULE_COUNTERS, RULE_STATUS, RULE_HANG, RULE_OVERRUN, RULE_CRASH, RULE_OWNERSHIP, RULE_COST,
      RULE_LATENCY}},
    {"every request",
     {"alloc", "output", "donate", "load", "execute"},
     {RULE_TOO_SMALL, RULE_HANDLE, RULE_REGRET, RULE_TOO_LARGE, RULE_ORDER}},
    {"every block placed or moved",
     {"alloc", "output", "donate", "load", "execute", "moves", "stagings"},
     {RULE_OVERLAP, RULE_OUTSIDE, RULE_MISALIGNED, RULE_REGION}},
    {"every move", {"moves", "stagings"}, {RULE_HELD_MOVED, RULE_MOVED_UNASKED}},
    {"every move, touch and end of a block",
     {"moves", "stagings", "touch", "free", "free_after", "unload"},
     {RULE_CONTENTS}},
    {"every block placed behind a queued free", {"free_after"}, {RULE_REUSED_EARLY}},
    {"every eviction", {"evictions"}, {RULE_BUSY_EVICTED, RULE_WRONG_EVICTION}},
    {"every out-of-memory", {"ooms"}, {RULE_PREMATURE, RULE_FAILED_CHANGED, RULE_MESSAGE}},
    {"every out-of-memory asked again", {"retries"}, {RULE_RETRY}},
    {"every report", {"report"}, {RULE_REPORT}},
    {"the end of every trial", {"trials"}, {RULE_NOT_COALESCED, RULE_HOST_MEMORY}},
    {"every schedule of lanes",
     {"schedules"},
     {RULE_DEADLOCK, RULE_LIVELOCK, RULE_LOST_WAKEUP, RULE_RACE, RULE_MISUSE}},
    {"related states of out-of-memories", {"relations_checked"}, {RULE_RELATION}},
    {"every sleep and wake", {"sleep", "wake"}, {RULE_NOT_RELEASED, RULE_WAKE_GROWS}},
    {"every recording", {"record"}, {RULE_RECORDED}},
    {"a sample of the trials", {NULL}, {RULE_REPLAY}},
    {"requests that several hosts make together", {NULL}, {RULE_SPMD, RULE_HELD_BACK}},
    {"wherever it applies", {NULL}, {RULE_NONE}}};

static const struct occasion *find_occasion(enum rule rule)
{
    const struct occasion *occasion = occasions;
    for (; occasion->rules[0] != RULE_NONE; occasion++) {
        for (size_t i = 0; occasion->rules[i] != RULE_NONE; i++) {
            if (occasion->rules[i] == rule) {
                return occasion;
            }
        }
    }
    return occasion;
}

static uint64_t count_occasion(const struct campaign_lines *lines, const struct occasion *occasion)
{
    uint64_t sum = 0;
    for (size_t i = 0; occasion->counts[i] != NULL; i++) {
        const uint64_t of_parts = campaign_sum(lines, occasion->counts[i]);
        sum += of_parts > 0 ? of_parts : member_number(lines->totals, occasion->counts[i]);
    }
    return sum;
}

static uint64_t count_broken(const struct campaign_lines *lines, const char *rule)
{
    const json_t *finding;
    uint64_t count = 0;
    size_t i;
    json_array_foreach(lines->findings, i, finding)
    {
        if (strcmp(member_text(finding, "rule"), rule) == 0) {
            count += member_number(finding, "count");
        }
    }
    return count;
}

static void append_rules(struct writing *html, const struct campaign_lines *lines)
{
    writing_append(html, "<details><summary>All rules</summary>\n");
    page_table_begin(html, "Rules, and how often there was something to judge",
                     "rule|the promise|judged on|#times|#findings seen");
    for (unsigned rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct rule_info *info = rule_info((enum rule)rule);
        const struct occasion *occasion = find_occasion((enum rule)rule);
        const bool is_counted = occasion->counts[0] != NULL;
        page_row(html, is_counted ? "%s|%s|%s|#%s|#%s" : "%s|%s|%s|%s|#%s", info->name,
                 info->summary, occasion->name,
                 is_counted ? page_count(count_occasion(lines, occasion)).text : "not counted",
                 page_count(count_broken(lines, info->name)).text);
    }
    writing_append(html, PAGE_TABLE_END);
    page_note(html, "A target is held to a rule as far as its contract promises it.");
    writing_append(html, "</details>\n");
}

void campaign_tables(struct writing *html, const struct campaign_lines *lines)
{
    page_section_begin(html, "tables", "What was run");
    if (json_array_size(lines->sweeps) > 0) {
        append_sweeps(html, lines);
        page_section_end(html);
        return;
    }
    append_table(html, &verdicts, lines->parts, NULL);
    append_notes(html, lines);
    if (lines->end != NULL) {
        append_table(html, &mitigations, lines->parts, NULL);
        append_table(html, &costs, lines->parts, "costs");
        append_mix(html, lines);
        append_regret(html, lines);
        append_probes(html, lines);
        append_rules(html, lines);
    } else {
        page_note(html, "Mitigations, costs, ops by kind and states reached are there when the "
                        "campaign has ended.");
    }
    page_section_end(html);
}

/* --- why memory ran out --- */

static void append_proof(struct writing *html, const struct campaign_lines *lines,
                         const json_t *line, unsigned number)
{
    struct writing text = {0};
    const char *why, *name = campaign_lines_file(member_text(line, "certificate"));
    if (name != NULL && below_read(lines->directory, name, CERTIFICATE_BYTES_MAX, &text, &why)) {
        json_t *certificate = json_loadb(writing_string(&text), text.length, 0, NULL);
        writing_append(html, "<details><summary>A proof: ");
        append_place(html, line);
        page_print(html, ", " WORDS "</summary>\n<p>" WORDS "</p>\n", member_text(line, "verdict"),
                   member_text(line, "message"));
        proof_words(html, certificate, number);
        writing_append(html, "</details>\n");
        json_decref(certificate);
    }
    writing_deinit(&text);
}

void campaign_ooms(struct writing *html, const struct campaign_lines *lines)
{
    const json_t *line;
    size_t i;
    if (json_object_size(lines->causes) + json_array_size(lines->proofs) == 0) {
        return;
    }
    page_section_begin(html, "causes", "Why memory ran out");
    append_table(html, &causes, lines->causes, NULL);
    json_array_foreach(lines->proofs, i, line)
    {
        append_proof(html, lines, line, (unsigned)(FIRST_PICTURE + 2 * i));
    }
    page_section_end(html);
}

/* --- memory in use --- */

static void append_share(struct writing *html, const struct memory_point *point)
{
    page_cell(html, true, "%s, %s", size_text_of(point->used_bytes).text,
              page_share(point->used_bytes, point->capacity_bytes).text);
}

static void append_job(struct writing *html, const char *name, const struct memory_track *track)
{
    int64_t slope;
    page_row_begin(html, name);
    append_share(html, &track->last);
    append_share(html, &track->peak);
    page_cell(html, true, "%s", page_count(track->peak.op_count).text);
    if (memory_trend(track, &slope)) {
        writing_append_format(html, "<td class=\"number\">%+" PRId64 "</td>", slope);
    } else {
        page_cell(html, false, "%s", "");
    }
    writing_append(html, "<td>");
    sparkline_draw(html, track);
    writing_append(html, "</td>" PAGE_ROW_END);
}

static void append_jobs(struct writing *html, const struct campaign_saved *saved)
{
    const struct campaign_head *head = &saved->description.head;
    const uint64_t part_count = head->part_count - (head->has_canary != 0);
    size_t row_count = 0;
    for (uint64_t i = 0; i < part_count && row_count < ROW_COUNT_MAX; i++) {
        const struct memory_track *track = &saved->checkpoint.parts[i].memory;
        if (track->point_count > 0 && row_count++ == 0) {
            page_section_begin(html, "memory", "Memory in use");
            page_table_begin(html, "Each job at the fullest moment of its trials",
                             "job|#last trial|#peak|#at op|#bytes in 1000 ops|over all trials");
        }
        if (track->point_count > 0) {
            append_job(html, saved->description.parts[i].name, track);
        }
    }
    if (row_count > 0) {
        writing_append(html, PAGE_TABLE_END);
        page_section_end(html);
    }
}

void campaign_memory(struct writing *html, const struct campaign_lines *lines)
{
    struct campaign_saved saved;
    char reason[CHECKPOINT_REASON_BYTES];
    const char *why = campaign_saved_load(lines->directory, &saved, reason);
    if (why == NULL) {
        append_jobs(html, &saved);
    } else if (why[0] != '\0') {
        page_section_begin(html, "memory", "Memory in use");
        page_note(html, "It is left out: %s", why);
        page_section_end(html);
    }
    campaign_saved_deinit(&saved);
}
