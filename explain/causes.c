/* Why it came: the causes that diagnosis/ finds. */
#include "diagnosis/cause.h"
#include "diagnosis/strength.h"
#include "explain/private/explanation.h"

#include <string.h>

enum { INDENT = 4, OTHER_HOST_COUNT_MAX = 8 };

static bool has_failed(const struct explanation *explanation)
{
    return explanation->verdict->kind != VERDICT_NONE;
}

/* host: which one has it; that which is explained, or another one that did not fail. */
static void tell_cause(struct explanation *explanation, const struct diagnosis *diagnosis,
                       uint32_t host)
{
    struct facts *facts = &explanation->facts;
    const char *level = confidence_name(diagnosis->confidence);
    char percent[16] = "";
    facts_open(facts, "cause");
    causes_add_members(facts_given(facts), diagnosis,
                       explain_tag_name(explanation, diagnosis->tag).text);
    facts_given_end(facts);
    if (host != explanation->moment.host) {
        facts_count(facts, "host", host);
        facts_answer(facts, "  on host %u, %s:", host,
                     has_failed(explanation) ? "which did not fail" : "which is not the fullest");
    }
    facts_close(facts);
    if (strength_is_measured(diagnosis->strength)) {
        snprintf(percent, sizeof percent, ", %u %%", diagnosis->confidence);
    }
    facts_answer(facts, "  %s (%s%s): %s", diagnosis->cause->name, level, percent,
                 diagnosis->cause->summary);
    facts_say(facts, "    ", INDENT, "%s", diagnosis->text);
}

static void say_heading(struct explanation *explanation, size_t count)
{
    const bool is_premature = explanation->verdict->kind == VERDICT_PREMATURE;
    if (has_failed(explanation) || count > 0) {
        facts_heading(&explanation->facts, "Diagnosis%s",
                      is_premature ? " (the out-of-memory was premature)" : "");
    }
    if (has_failed(explanation) && count == 0) {
        facts_answer(&explanation->facts, "  none of the usual causes was found");
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
            if (told_count == 0 && !has_failed(explanation)) {
                say_heading(explanation, 1);
            }
            tell_cause(explanation, &told[told_count++], host);
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
    say_heading(explanation, count);
    for (size_t i = 0; i < count; i++) {
        tell_cause(explanation, &diagnoses[i], explanation->moment.host);
        explain_remedy(explanation, &diagnoses[i]);
    }
    explain_other_hosts(explanation, diagnoses, count);
    if (count > 0 && explanation->history->has_lanes) {
        facts_answer(&explanation->facts, "  (With lanes, the history is recorded when calls are "
                                          "judged: calls that overlap count as one.)");
    }
    if (count > 0) {
        explain_forecast(explanation);
    }
    evidence_deinit(&evidence);
}
