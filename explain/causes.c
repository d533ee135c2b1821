/* Why it came: the causes that diagnosis/ finds. */
#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "explain/private/explain_parts.h"
#include "harness/base/check.h"
#include "harness/base/json.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <string.h>

enum { INDENT = 4, OTHER_HOST_COUNT_MAX = 8 };

static void append_foreign(struct writing *text, const char *sentences)
{
    struct writing visible;
    writing_init(&visible);
    writing_append_visible(&visible, sentences);
    writing_append_format(text, "%*s", INDENT, "");
    wrap_append(text, writing_string(&visible), INDENT, screen_columns());
    writing_append(text, "\n");
    writing_deinit(&visible);
}

static void append_cause(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    struct writing *text = &explanation->text;
    writing_append_format(text, "  %s (%s", diagnosis->cause->name,
                          confidence_name(diagnosis->confidence));
    if (strength_is_measured(diagnosis->strength)) {
        writing_append_format(text, ", %u %%", diagnosis->confidence);
    }
    writing_append_format(text, "): %s\n", diagnosis->cause->summary);
    append_foreign(&explanation->text, diagnosis->text);
}

static void append_cause_line(struct explanation *explanation, const struct diagnosis *diagnosis)
{
    struct writing *text = &explanation->text;
    char name[SETUP_NAME_BYTES];
    json_open(text, "cause");
    causes_add_members(text, diagnosis, explain_tag_name(explanation->run, diagnosis->tag, name));
    json_close(text);
}

static void explain_heading(struct explanation *explanation, size_t count)
{
    struct writing *text = &explanation->text;
    const enum verdict_kind kind = explanation->verdict->kind;
    if (kind == VERDICT_NONE && count == 0) {
        return;
    }
    writing_append(text, "\nDiagnosis");
    if (kind == VERDICT_PREMATURE) {
        writing_append(text, " (the out-of-memory was premature)");
    }
    writing_append(text, "\n");
    if (count == 0) {
        writing_append(text, "  none of the usual causes was found\n");
    }
}

static void explain_history(struct explanation *explanation)
{
    if (explanation->history->has_lanes) {
        writing_append(
            &explanation->text,
            "  (With lanes, the history is recorded when calls are judged: calls that overlap count as one.)\n");
    }
}

static bool is_same_story(const struct diagnosis *a, const struct diagnosis *b)
{
    return a->cause == b->cause && a->has_tag == b->has_tag && (!a->has_tag || a->tag == b->tag);
}

static bool is_told(const struct diagnosis *diagnoses, size_t count,
                    const struct diagnosis *diagnosis)
{
    for (size_t i = 0; i < count; i++) {
        if (is_same_story(&diagnoses[i], diagnosis)) {
            return true;
        }
    }
    return false;
}

/* What is worth saying of a host that did not fail, and is not said of the one that is explained:
 * the surest of it.  False: nothing is. */
static bool find_of_host(const struct explanation *explanation, uint32_t host,
                         const struct diagnosis *told, size_t told_count, struct diagnosis *found)
{
    static const struct verdict nothing = {.kind = VERDICT_NONE};
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT];
    evidence_take_of_host(explanation->history, explanation->run, &nothing, host, &evidence);
    const size_t count = causes_find(&evidence, diagnoses);
    size_t i = 0;
    while (i < count && is_told(told, told_count, &diagnoses[i])) {
        i++;
    }
    if (i < count) {
        *found = diagnoses[i];
    }
    evidence_deinit(&evidence);
    return i < count;
}

static void say_of_host(struct explanation *explanation, uint32_t host,
                        const struct diagnosis *diagnosis)
{
    struct writing *text = &explanation->text;
    char name[SETUP_NAME_BYTES];
    if (explanation->is_json) {
        json_open(text, "cause");
        causes_add_members(text, diagnosis,
                           explain_tag_name(explanation->run, diagnosis->tag, name));
        json_add_number(text, "host", host);
        json_close(text);
        return;
    }
    writing_append_format(text, "  on host %u, %s:\n", host,
                          explanation->verdict->kind == VERDICT_NONE ? "which is not the fullest"
                                                                     : "which did not fail");
    append_cause(explanation, diagnosis);
}

/* The least that is in use in a quarter of the history. */
static uint64_t find_floor(const struct history_host *host, uint32_t quarter)
{
    uint64_t floor = UINT64_MAX;
    for (uint32_t i = host->count * quarter / 4; i < host->count * (quarter + 1) / 4; i++) {
        const uint64_t bytes = host->samples[i].in_use_bytes;
        floor = bytes < floor ? bytes : floor;
    }
    return floor;
}

/* From the second quarter, when it has warmed up, to the last. */
static uint64_t find_growth(const struct history_host *host)
{
    if (host->count < 4) {
        return 0;
    }
    const uint64_t before = find_floor(host, 1), after = find_floor(host, 3);
    return after > before ? after - before : 0;
}

/* The host that grew most of those that are not looked at yet; host_count: none did. */
static uint32_t find_grower(const struct explanation *explanation, const bool *is_seen)
{
    const uint32_t host_count = run_setup(explanation->run)->host_count;
    uint32_t grower = host_count;
    uint64_t most = 0;
    for (uint32_t host = 0; host < host_count; host++) {
        const uint64_t growth = find_growth(&explanation->history->hosts[host]);
        if (!is_seen[host] && growth > most) {
            most = growth;
            grower = host;
        }
    }
    return grower;
}

/* Of the other hosts those that grew most are looked at; where several have one story, it is told
 * of the first. */
static void explain_other_hosts(struct explanation *explanation, struct diagnosis *told,
                                size_t told_count)
{
    const uint32_t host_count = run_setup(explanation->run)->host_count;
    bool is_seen[OP_HOST_COUNT_MAX] = {[0] = false};
    is_seen[explanation->moment.host] = true;
    for (int i = 0; i < OTHER_HOST_COUNT_MAX; i++) {
        const uint32_t host = find_grower(explanation, is_seen);
        if (host == host_count) {
            return;
        }
        is_seen[host] = true;
        if (find_of_host(explanation, host, told, told_count, &told[told_count])) {
            if (!explanation->is_json && told_count == 0 &&
                explanation->verdict->kind == VERDICT_NONE) {
                writing_append(&explanation->text, "\nDiagnosis\n");
            }
            say_of_host(explanation, host, &told[told_count++]);
        }
    }
}

void explain_causes(struct explanation *explanation)
{
    struct evidence evidence;
    struct diagnosis diagnoses[CAUSE_COUNT + OTHER_HOST_COUNT_MAX];
    if (explanation->verdict->kind == VERDICT_BROKEN) {
        return;
    }
    evidence_take_of_host(explanation->history, explanation->run, explanation->verdict,
                          explanation->moment.host, &evidence);
    const size_t count = causes_find(&evidence, diagnoses);
    if (!explanation->is_json) {
        explain_heading(explanation, count);
    }
    for (size_t i = 0; i < count; i++) {
        if (explanation->is_json) {
            append_cause_line(explanation, &diagnoses[i]);
        } else {
            append_cause(explanation, &diagnoses[i]);
        }
        explain_remedy(explanation, &diagnoses[i]);
    }
    explain_other_hosts(explanation, diagnoses, count);
    if (!explanation->is_json && count > 0) {
        explain_history(explanation);
    }
    if (count > 0) {
        explain_forecast(explanation);
    }
    evidence_deinit(&evidence);
}
