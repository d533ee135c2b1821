#include "harness/oracle/signature.h"
#include "page/campaign_sections.h"
#include "present/page/page.h"
#include "present/page/parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { BYTES = -1 };

/* A number of a campaign that is compared with that of another one. */
struct measure {
    const char *name;
    double (*take)(const struct campaign_lines *lines);
    int digits;   /* behind the point; BYTES: a size */
    int worse;    /* 1: more is worse, -1: less is, 0: neither */
    double slack; /* a change by so much of the earlier number says nothing */
    bool of_end;  /* only a campaign that ended knows it */
};

static double divide(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double take_total(const struct campaign_lines *lines, const char *member)
{
    return (double)member_number(lines->totals, member);
}

/* Sums a member over all jobs. */
static double sum_jobs(const struct campaign_lines *lines, const char *member)
{
    const char *name;
    const json_t *part;
    double sum = 0;
    json_object_foreach(lines->parts, name, part)
    {
        sum += (double)member_number(part, member);
    }
    return sum;
}

static double take_new_findings(const struct campaign_lines *lines)
{
    return (double)campaign_new_findings(lines);
}

static double take_ops(const struct campaign_lines *lines)
{
    return take_total(lines, "ops");
}

static double take_speed(const struct campaign_lines *lines)
{
    return divide(take_ops(lines), member_real(lines->totals, "seconds"));
}

static double take_ooms(const struct campaign_lines *lines)
{
    return 1000 * divide(take_total(lines, "ooms"), take_ops(lines));
}

static double take_premature_share(const struct campaign_lines *lines)
{
    const double premature = take_total(lines, "premature");
    return 100 * divide(premature, premature + take_total(lines, "justified"));
}

static double take_unknown_share(const struct campaign_lines *lines)
{
    return 100 * divide(take_total(lines, "unknown"), take_total(lines, "ooms"));
}

static double take_broken(const struct campaign_lines *lines)
{
    return take_total(lines, "broken");
}

static double take_unrepeated(const struct campaign_lines *lines)
{
    return take_total(lines, "unrepeated");
}

static double take_trials(const struct campaign_lines *lines)
{
    return (double)campaign_trials(lines);
}

static double take_moved(const struct campaign_lines *lines)
{
    return divide(sum_jobs(lines, "moved_bytes"), take_ops(lines));
}

static double take_evictions(const struct campaign_lines *lines)
{
    return 1000 * divide(sum_jobs(lines, "evictions"), take_ops(lines));
}

static double take_drains(const struct campaign_lines *lines)
{
    return 1000 * divide(sum_jobs(lines, "drains"), take_ops(lines));
}

static double take_regret(const struct campaign_lines *lines)
{
    const json_t *regret = json_object_get(lines->totals, "regret");
    return 1000 * divide((double)member_number(regret, "requests"), take_ops(lines));
}

static double take_calls(const struct campaign_lines *lines)
{
    const json_t *costs = json_object_get(lines->totals, "costs");
    return (double)member_number(json_object_get(costs, "calls"), "p99");
}

static const struct measure measures[] = {
    {"findings that no baseline knows", take_new_findings, 0, 1, 0, false},
    {"other broken promises", take_broken, 0, 1, 0, false},
    {"premature share of refusals, %", take_premature_share, 2, 1, 0.02, false},
    {"unknown share of OOMs, %", take_unknown_share, 2, 1, 0.02, false},
    {"unrepeated verdicts", take_unrepeated, 0, 1, 0, false},
    {"trials", take_trials, 0, 0, 0, false},
    {"ops", take_ops, 0, 0, 0, false},
    {"ops a second", take_speed, 0, -1, 0.2, true},
    {"OOMs in 1000 ops", take_ooms, 3, 1, 0.05, false},
    {"bytes moved an op", take_moved, BYTES, 1, 0.05, true},
    {"evictions in 1000 ops", take_evictions, 3, 1, 0.05, true},
    {"drains in 1000 ops", take_drains, 3, 1, 0.05, true},
    {"requests with regret in 1000 ops", take_regret, 3, 1, 0.05, true},
    {"device calls an op, 99th percentile", take_calls, 0, 1, 0, true},
};
enum { MEASURE_COUNT = sizeof measures / sizeof *measures };

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
    if (measure->digits == BYTES) {
        page_cell_size(html, (uint64_t)number);
    } else if (measure->digits == 0) {
        page_cell_count(html, (uint64_t)(number + 0.5));
    } else {
        writing_append_format(html, "<td class=\"number\">%.*f</td>", measure->digits, number);
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

/* Appends a measure that both campaigns have.  True: it is worse. */
static bool append_known(struct writing *html, const struct measure *measure,
                         const struct campaign_lines *now, const struct campaign_lines *before)
{
    const double after = measure->take(now), earlier = measure->take(before);
    append_number(html, measure, after);
    append_number(html, measure, earlier);
    append_change(html, measure, after, earlier);
    return judge_change(measure, after, earlier) > 0;
}

/* Appends a measure that one of them does not have yet: it is compared with nothing. */
static void append_unknown(struct writing *html, const struct measure *measure,
                           const struct campaign_lines *now, const struct campaign_lines *before)
{
    const struct campaign_lines *both[] = {now, before};
    for (size_t i = 0; i < 2; i++) {
        if (both[i]->end != NULL) {
            append_number(html, measure, measure->take(both[i]));
        } else {
            page_cell(html, "");
        }
    }
    page_cell(html, "not known yet");
}

static size_t append_measures(struct writing *html, const struct campaign_lines *now,
                              const struct campaign_lines *before)
{
    const bool have_ended = now->end != NULL && before->end != NULL;
    size_t worse_count = 0;
    page_table_begin(html, "Both campaigns", "|#now|#earlier|change");
    for (size_t i = 0; i < MEASURE_COUNT; i++) {
        page_row_begin(html, measures[i].name);
        if (measures[i].of_end && !have_ended) {
            append_unknown(html, &measures[i], now, before);
        } else {
            worse_count += append_known(html, &measures[i], now, before);
        }
        page_row_end(html);
    }
    page_table_end(html);
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
    enum { SHOWN_COUNT_MAX = 200 };
    json_t *others = list_signatures(other);
    const json_t *finding;
    size_t i, count = 0;
    json_array_foreach(of->findings, i, finding)
    {
        const char *signature = member_text(finding, "signature");
        if ((json_object_get(others, signature) != NULL) != in_both || count++ >= SHOWN_COUNT_MAX) {
            continue;
        }
        writing_append_format(html, "<li><span class=\"%s\">%s</span> ", class, words);
        page_append_cut(html, signature, SIGNATURE_BYTES);
        writing_append(html, "</li>\n");
    }
    json_decref(others);
    if (count > SHOWN_COUNT_MAX) {
        writing_append_format(html, "<li>%s and %zu more</li>\n", words, count - SHOWN_COUNT_MAX);
    }
    return count;
}

void campaign_against(struct writing *html, const struct campaign_lines *now,
                      const struct campaign_lines *before)
{
    struct writing rest;
    writing_init(&rest);
    page_section_begin(html, "against", "Compared with the earlier campaign");
    writing_append(html, "<p>The earlier one: <code>");
    page_append_text(html, before->directory);
    writing_append(html, "</code></p>\n");
    if (now->end == NULL || before->end == NULL) {
        page_append_note(html, "One of the two has not ended: what it costs is not known yet.");
    }
    writing_append(&rest, "<ul>\n");
    const size_t new_count = append_findings(&rest, now, before, false, "worse",
                                             "\xe2\x96\xb2 new since:");
    (void)append_findings(&rest, now, before, true, "quiet", "stayed:");
    const size_t gone_count = append_findings(&rest, before, now, false, "better",
                                              "\xe2\x96\xbc gone:");
    writing_append(&rest, "</ul>\n");
    const size_t worse_count = append_measures(&rest, now, before);
    writing_append_format(html,
                          "<p class=\"verdict %s\">%zu new finding%s, %zu gone; %zu number%s "
                          "worse</p>\n",
                          new_count > 0     ? "broken"
                          : worse_count > 0 ? "warn"
                                            : "kept",
                          new_count, new_count == 1 ? "" : "s", gone_count, worse_count,
                          worse_count == 1 ? "" : "s");
    writing_append_bytes(html, rest.bytes, rest.length);
    writing_deinit(&rest);
    page_section_end(html);
}
