#include "harness/oracle/rule.h"
#include "page/campaign_sections.h"
#include "present/page/parts.h"

#include <string.h>

/* An occasion on which a rule is judged.  The lines of a campaign count these, not the rules: a
 * rule is judged on each, as far as the contract promises it. */
struct occasion {
    const char *name;
    const char *counts[8]; /* members of the sums over all jobs, added up; none: nobody counts it */
};

static const struct occasion
    every_op = {"every op", {"ops"}},
    requests = {"every request", {"alloc", "output", "donate", "load", "execute"}},
    places = {"every block placed or moved",
              {"alloc", "output", "donate", "load", "execute", "moves", "stagings"}},
    moves = {"every move", {"moves", "stagings"}},
    contents = {"every move, touch and end of a block",
                {"moves", "stagings", "touch", "free", "free_after", "unload"}},
    frees = {"every block placed behind a queued free", {"free_after"}},
    evictions = {"every eviction", {"evictions"}}, refusals = {"every out-of-memory", {"ooms"}},
    retries = {"every out-of-memory asked again", {"retries"}},
    reports = {"every report", {"report"}}, trials = {"the end of every trial", {"trials"}},
    schedules = {"every schedule of lanes", {"schedules"}},
    relations = {"related states of out-of-memories", {"relations_checked"}},
    sleeps = {"every sleep and wake", {"sleep", "wake"}},
    recordings = {"every recording", {"record"}}, samples = {"a sample of the trials", {NULL}},
    groups = {"requests that several hosts make together", {NULL}},
    elsewhere = {"wherever it applies", {NULL}};

/* A rule without a row is counted nowhere. */ static const struct occasion
    *const occasions[RULE_COUNT] = {
        [RULE_PREMATURE] = &refusals,
        [RULE_OVERLAP] = &places,
        [RULE_OUTSIDE] = &places,
        [RULE_MISALIGNED] = &places,
        [RULE_TOO_SMALL] = &requests,
        [RULE_CONTENTS] = &contents,
        [RULE_REUSED_EARLY] = &frees,
        [RULE_HELD_MOVED] = &moves,
        [RULE_MOVED_UNASKED] = &moves,
        [RULE_BUSY_EVICTED] = &evictions,
        [RULE_WRONG_EVICTION] = &evictions,
        [RULE_FAILED_CHANGED] = &refusals,
        [RULE_COUNTERS] = &every_op,
        [RULE_MESSAGE] = &refusals,
        [RULE_REPORT] = &reports,
        [RULE_STATUS] = &every_op,
        [RULE_HANDLE] = &requests,
        [RULE_HANG] = &every_op,
        [RULE_NOT_COALESCED] = &trials,
        [RULE_HOST_MEMORY] = &trials,
        [RULE_SPMD] = &groups,
        [RULE_REPLAY] = &samples,
        [RULE_REGRET] = &requests,
        [RULE_OVERRUN] = &every_op,
        [RULE_CRASH] = &every_op,
        [RULE_DEADLOCK] = &schedules,
        [RULE_LIVELOCK] = &schedules,
        [RULE_LOST_WAKEUP] = &schedules,
        [RULE_RACE] = &schedules,
        [RULE_MISUSE] = &schedules,
        [RULE_TOO_LARGE] = &requests,
        [RULE_RETRY] = &retries,
        [RULE_RELATION] = &relations,
        [RULE_NOT_RELEASED] = &sleeps,
        [RULE_WAKE_GROWS] = &sleeps,
        [RULE_ORDER] = &requests,
        [RULE_OWNERSHIP] = &every_op,
        [RULE_REGION] = &places,
        [RULE_RECORDED] = &recordings,
        [RULE_HELD_BACK] = &groups,
        [RULE_COST] = &every_op,
        [RULE_LATENCY] = &every_op,
};

/* Over all jobs, where each has it, or its ops by kind; else of the whole campaign. */
static uint64_t count_member(const struct campaign_lines *lines, const char *member)
{
    const char *name;
    const json_t *part;
    uint64_t sum = 0;
    json_object_foreach(lines->parts, name, part)
    {
        sum += member_number(part, member) +
               member_number(json_object_get(part, "by_kind"), member);
    }
    return sum > 0 ? sum : member_number(lines->totals, member);
}

static uint64_t count_occasion(const struct campaign_lines *lines, const struct occasion *occasion)
{
    uint64_t sum = 0;
    for (size_t i = 0; occasion->counts[i] != NULL; i++) {
        sum += count_member(lines, occasion->counts[i]);
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

void campaign_rules(struct writing *html, const struct campaign_lines *lines)
{
    writing_append(html, "<details><summary>All rules</summary>\n");
    page_table_begin(html, "Rules, and how often there was something to judge",
                     "rule|the promise|judged on|#times|#findings seen");
    for (unsigned rule = RULE_NONE + 1; rule < RULE_COUNT; rule++) {
        const struct rule_info *info = rule_info((enum rule)rule);
        const struct occasion *occasion = occasions[rule] != NULL ? occasions[rule] : &elsewhere;
        page_row_begin(html, info->name);
        page_cell(html, info->summary);
        page_cell(html, occasion->name);
        if (occasion->counts[0] == NULL) {
            page_cell(html, "not counted");
        } else {
            page_cell_count(html, count_occasion(lines, occasion));
        }
        page_cell_count(html, count_broken(lines, info->name));
        page_row_end(html);
    }
    page_table_end(html);
    page_append_note(html, "A target is held to a rule as far as its contract promises it.");
    writing_append(html, "</details>\n");
}
