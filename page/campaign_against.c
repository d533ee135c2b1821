#include "harness/base/size.h"
#include "page/campaign_page.h"

#include <math.h>
#include <string.h>

enum { BYTES = -1, SHOWN_COUNT_MAX = 200 };

/* A number of a campaign that is compared with that of another one. */
struct measure {
    const char *name, *member;
    /* the sum of the member over all jobs, or the member of the campaign */
    enum { OF_JOBS, OF_CAMPAIGN, OF_FINDINGS, OF_REGRET, OF_CALLS } place;
    /* of how many it is told: a share of 100, of OOMs or of refusals; per op, per 1000, a second */
    enum { WHOLE, OF_OOMS, OF_REFUSALS, AN_OP, IN_1000_OPS, A_SECOND } per;
    int digits;   /* behind the point; BYTES: a size */
    int worse;    /* 1: more is worse, -1: less is, 0: neither */
    double slack; /* a change by so much of the earlier number says nothing */
    bool of_end;  /* only a campaign that ended knows it */
};

static const struct measure measures[] = {
    {"findings that no baseline knows", NULL, OF_FINDINGS, WHOLE, 0, 1, 0, false},
    {"other broken promises", "broken", OF_CAMPAIGN, WHOLE, 0, 1, 0, false},
    {"premature share of refusals, %", "premature", OF_CAMPAIGN, OF_REFUSALS, 2, 1, 0.02, false},
    {"unknown share of OOMs, %", "unknown", OF_CAMPAIGN, OF_OOMS, 2, 1, 0.02, false},
    {"unrepeated verdicts", "unrepeated", OF_CAMPAIGN, WHOLE, 0, 1, 0, false},
    {"trials", "trials", OF_JOBS, WHOLE, 0, 0, 0, false},
    {"ops", "ops", OF_CAMPAIGN, WHOLE, 0, 0, 0, false},
    {"ops a second", "ops", OF_CAMPAIGN, A_SECOND, 0, -1, 0.2, true},
    {"OOMs in 1000 ops", "ooms", OF_CAMPAIGN, IN_1000_OPS, 3, 1, 0.05, false},
    {"bytes moved an op", "moved_bytes", OF_JOBS, AN_OP, BYTES, 1, 0.05, true},
    {"evictions in 1000 ops", "evictions", OF_JOBS, IN_1000_OPS, 3, 1, 0.05, true},
    {"drains in 1000 ops", "drains", OF_JOBS, IN_1000_OPS, 3, 1, 0.05, true},
    {"requests with regret in 1000 ops", "requests", OF_REGRET, IN_1000_OPS, 3, 1, 0.05, true},
    {"device calls an op, 99th percentile", "p99", OF_CALLS, WHOLE, 0, 1, 0, true},
};
enum { MEASURE_COUNT = sizeof measures / sizeof *measures };

static double divide(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double take_total(const struct campaign_lines *lines, const char *member)
{
    return (double)member_number(lines->totals, member);
}

static double take_part(const struct measure *measure, const struct campaign_lines *lines)
{
    const json_t *totals = lines->totals;
    switch (measure->place) {
    case OF_JOBS:
        return (double)campaign_sum(lines, measure->member);
    case OF_FINDINGS:
        return (double)campaign_new_findings(lines);
    case OF_REGRET:
        return (double)member_number(json_object_get(totals, "regret"), measure->member);
    case OF_CALLS:
        totals = json_object_get(json_object_get(totals, "costs"), "calls");
        return (double)member_number(totals, measure->member);
    default:
        return take_total(lines, measure->member);
    }
}

static double take_measure(const struct measure *measure, const struct campaign_lines *lines)
{
    const double part = take_part(measure, lines), ops = take_total(lines, "ops");
    switch (measure->per) {
    case OF_OOMS:
        return 100 * divide(part, take_total(lines, "ooms"));
    case OF_REFUSALS:
        return 100 * divide(part, part + take_total(lines, "justified"));
    case AN_OP:
        return divide(part, ops);
    case IN_1000_OPS:
        return 1000 * divide(part, ops);
    case A_SECOND:
        return divide(part, member_real(lines->totals, "seconds"));
    default:
        return part;
    }
}

/* 1 worse, -1 better, 0 neither. */
static int judge_change(const struct measure *measure, double now, double before)
{
    const double change = now - before;
    if (measure->worse == 0 || fabs(change) <= measure->slack * fabs(before) || change == 0) {
        return 0;
    }
    return (change > 0) == (measure->worse > 0) ? 1 : -1;
}

static void append_number(struct writing *html, const struct measure *measure, double number)
{
    char text[64];
    if (measure->digits == BYTES) {
        page_cell(html, true, "%s", size_text_of((uint64_t)number).text);
    } else if (measure->digits == 0) {
        page_cell(html, true, "%s", page_count((uint64_t)(number + 0.5)).text);
    } else {
        snprintf(text, sizeof text, "%.*f", measure->digits, number);
        page_cell(html, true, "%s", text);
    }
}

static void append_change(struct writing *html, const struct measure *measure, double now,
                          double before)
{
    static const char *const classes[] = {"better", "quiet", "worse"};
    static const char *const words[] = {"\xe2\x96\xbc better", "near", "\xe2\x96\xb2 worse"};
    const int change = judge_change(measure, now, before);
    const char *word = now == before ? "the same" : measure->worse == 0 ? "" : words[change + 1];
    writing_append_format(html, "<td class=\"%s\">%s", classes[change + 1], word);
    if (before > 0 && now != before) {
        writing_append_format(html, " (%+.1f %%)", 100 * (now - before) / before);
    }
    writing_append(html, "</td>");
}

/* Appends what both campaigns have; one that does not know it yet is compared with nothing.  True:
 * it is worse. */
static bool append_measure(struct writing *html, const struct measure *measure,
                           const struct campaign_lines *const both[2])
{
    double numbers[2] = {0};
    const bool is_known = !measure->of_end || (both[0]->end != NULL && both[1]->end != NULL);
    page_row_begin(html, measure->name);
    for (size_t i = 0; i < 2; i++) {
        if (!measure->of_end || both[i]->end != NULL) {
            numbers[i] = take_measure(measure, both[i]);
            append_number(html, measure, numbers[i]);
        } else {
            page_cell(html, false, "%s", "");
        }
    }
    if (is_known) {
        append_change(html, measure, numbers[0], numbers[1]);
    } else {
        page_cell(html, false, "not known yet");
    }
    writing_append(html, PAGE_ROW_END);
    return is_known && judge_change(measure, numbers[0], numbers[1]) > 0;
}

static size_t append_measures(struct writing *html, const struct campaign_lines *const both[2])
{
    size_t worse_count = 0;
    page_table_begin(html, "Both campaigns", "|#now|#earlier|change");
    for (size_t i = 0; i < MEASURE_COUNT; i++) {
        worse_count += append_measure(html, &measures[i], both);
    }
    writing_append(html, PAGE_TABLE_END);
    return worse_count;
}

/* --- findings by signature --- */

/* An object with a member for each. */
static json_t *list_signatures(const struct campaign_lines *lines)
{
    json_t *signatures = json_object();
    const json_t *finding;
    size_t i;
    json_array_foreach(lines->findings, i, finding)
    {
        (void)json_object_set_new(signatures, member_text(finding, "signature"), json_true());
    }
    return signatures;
}

/* Appends the findings of one campaign that the other one has too, or does not have. */
static size_t append_findings(struct writing *html, const struct campaign_lines *of,
                              const struct campaign_lines *other, bool in_both, const char *class,
                              const char *words)
{
    json_t *others = list_signatures(other);
    const json_t *finding;
    size_t i, count = 0;
    json_array_foreach(of->findings, i, finding)
    {
        const char *signature = member_text(finding, "signature");
        if ((json_object_get(others, signature) != NULL) == in_both && count++ < SHOWN_COUNT_MAX) {
            page_print(html, "<li><span class=\"%s\">%s</span> %s</li>\n", class, words, signature);
        }
    }
    json_decref(others);
    if (count > SHOWN_COUNT_MAX) {
        page_print(html, "<li>%s and %zu more</li>\n", words, count - SHOWN_COUNT_MAX);
    }
    return count;
}

void campaign_against(struct writing *html, const struct campaign_lines *now,
                      const struct campaign_lines *before)
{
    const struct campaign_lines *const both[2] = {now, before};
    struct writing rest = {0};
    page_section_begin(html, "against", "Compared with the earlier campaign");
    page_print(html, "<p>The earlier one: <code>%s</code></p>\n", before->directory);
    if (now->end == NULL || before->end == NULL) {
        page_note(html, "One of the two has not ended: what it costs is not known yet.");
    }
    writing_append(&rest, "<ul>\n");
    const size_t new = append_findings(&rest, now, before, false, "worse",
                                       "\xe2\x96\xb2 new since:");
    (void)append_findings(&rest, now, before, true, "quiet", "stayed:");
    const size_t gone = append_findings(&rest, before, now, false, "better", "\xe2\x96\xbc gone:");
    writing_append(&rest, "</ul>\n");
    const size_t worse = append_measures(&rest, both);
    page_print(html,
               "<p class=\"verdict %s\">%zu new finding%s, %zu gone; %zu number%s worse</p>\n",
               new > 0     ? "broken"
               : worse > 0 ? "warn"
                           : "kept",
               new, plural(new, "", "s"), gone, worse, plural(worse, "", "s"));
    writing_append_bytes(html, rest.bytes, rest.length);
    writing_deinit(&rest);
    page_section_end(html);
}
