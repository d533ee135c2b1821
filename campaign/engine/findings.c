#include "campaign/engine/findings.h"

#include "campaign/base/message.h"
#include "campaign/base/repro.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void findings_deinit(struct findings *findings)
{
    free(findings->findings);
    *findings = (struct findings){0};
}

const char *finding_find_wrong(const struct finding *finding)
{
    /* Added up they are all verdicts that it was seen with, and those of others that are it. */
    const uint64_t gone = finding->moved_count + finding->unrepeated_count;
    if (finding->seen_count > finding->count || gone > finding->seen_count ||
        finding->stayed_count > finding->seen_count - gone) {
        return "count";
    }
    return (finding->moved_count > 0) == (finding->moved_to[0] == '\0') ? "moved_to" : NULL;
}

bool findings_invariants_hold(const struct findings *findings)
{
    bool hold = findings->count <= findings->capacity;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->findings[i];
        hold &= finding_find_wrong(finding) == NULL &&
                findings_find(findings, finding->signature) == finding;
    }
    return hold;
}

struct finding *findings_find(const struct findings *findings, const char *signature)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->findings[i].signature, signature) == 0) {
            return &findings->findings[i];
        }
    }
    return NULL;
}

bool findings_have_base(const struct findings *findings, const char *base)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->findings[i].base, base) == 0) {
            return true;
        }
    }
    return false;
}

struct finding *findings_add(struct findings *findings, const struct finding *finding)
{
    CHECK(findings_find(findings, finding->signature) == NULL);
    findings->findings = array_grown(findings->findings, findings->count, &findings->capacity,
                                     sizeof *finding);
    findings->findings[findings->count] = *finding;
    return &findings->findings[findings->count++];
}

void finding_note_first(struct finding *finding, uint64_t order, uint64_t part, uint64_t trial,
                        uint64_t seed)
{
    if (order < finding->first_order) {
        finding->part = part;
        finding->trial = trial;
        finding->seed = seed;
        finding->first_order = order;
    }
}

static char *text_replay(const char *directory, const struct finding *finding)
{
    struct writing line;
    writing_init(&line);
    before_append_replay(&line, directory, finding->base, finding->before_count);
    char *text = strdup(writing_string(&line));
    CHECK(text != NULL);
    writing_deinit(&line);
    return text;
}

bool finding_is_to_shrink(const struct finding *finding, uint64_t number)
{
    return number <= FINDING_SHRUNK_COUNT_MAX ||
           (finding->moved_count + finding->unrepeated_count > 0 &&
            finding->stayed_count < FINDING_SHRUNK_COUNT_MAX);
}

bool finding_repro_is_better(const struct finding *finding, uint64_t op_count,
                             uint64_t before_count, bool is_unrepeated)
{
    if (finding->op_count == 0 || is_unrepeated != (finding->is_unrepeated != 0)) {
        return finding->op_count == 0 || !is_unrepeated;
    }
    return before_count != finding->before_count ? before_count < finding->before_count
                                                 : op_count < finding->op_count;
}

static int compare_order(const void *a, const void *b)
{
    const struct finding *left = a, *right = b;
    return left->first_order < right->first_order ? -1 : left->first_order > right->first_order;
}

void findings_settle(struct findings *findings)
{
    if (findings->count > 0) {
        qsort(findings->findings, findings->count, sizeof *findings->findings, compare_order);
    }
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *from = &findings->findings[i];
        const uint64_t left = from->seen_count - from->moved_count - from->unrepeated_count;
        /* The verdicts that moved here from other findings stay. */
        if (from->moved_count == 0 || from->stayed_count > 0 || left == 0) {
            continue;
        }
        struct finding *to = findings_find(findings, from->moved_to);
        CHECK(to != NULL);
        to->count += left;
        from->moved_count += left;
    }
}

/* Counts the shown findings of a part; SIZE_MAX means all parts. */
static size_t count_shown(const struct findings *findings, size_t part, bool is_new)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->findings[i];
        count += finding_is_shown(finding) && (part == SIZE_MAX || finding->part == part) &&
                 (!is_new || !finding->is_known);
    }
    return count;
}

size_t findings_shown_count(const struct findings *findings)
{
    return count_shown(findings, SIZE_MAX, false);
}

size_t findings_new_count(const struct findings *findings)
{
    return count_shown(findings, SIZE_MAX, true);
}

size_t findings_shown_in(const struct findings *findings, size_t part)
{
    return count_shown(findings, part, false);
}

static void fill_known(struct report_known *known, const struct finding *finding,
                       const char *directory, const char *part_name)
{
    *known = (struct report_known){.signature = finding->signature,
                                   .rule = finding->rule,
                                   .first = {part_name, finding->trial},
                                   .seed = finding->seed,
                                   .count = finding_own_count(finding),
                                   .op_count = finding->op_count,
                                   .is_known = finding->is_known != 0,
                                   .reason = finding->reason,
                                   .message = finding->message,
                                   .largest = finding->has_largest != 0 ? &finding->largest : NULL};
    if (finding->base[0] == '\0') {
        return;
    }
    CHECK(asprintf((char **)&known->repro, "%s/repros/%s.ops", directory, finding->base) >= 0);
    known->replay = text_replay(directory, finding);
    known->repeats = before_report(directory, finding->base, finding->before_count,
                                   finding->is_unrepeated != 0);
    if (finding->has_certificate) {
        CHECK(asprintf((char **)&known->certificate, "%s/certificates/%s.json", directory,
                       finding->base) >= 0);
    }
}

struct report_known *findings_report(const struct findings *findings, const char *directory,
                                     const char *const *part_names)
{
    struct report_known *known = calloc(findings->count + 1, sizeof *known);
    CHECK(known != NULL);
    size_t count = 0;
    for (unsigned gravity = GRAVITY_HARM + 1u; gravity-- > 0;) {
        for (size_t i = 0; i < findings->count; i++) {
            const struct finding *finding = &findings->findings[i];
            if (finding_is_shown(finding) &&
                (unsigned)rule_gravity(rule_find(finding->rule)) == gravity) {
                fill_known(&known[count++], finding, directory, part_names[finding->part]);
            }
        }
    }
    CHECK(count == findings_shown_count(findings));
    return known;
}

void findings_free_report(struct report_known *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)known[i].repro);
        free((char *)known[i].replay);
        free((char *)known[i].certificate);
        before_free_report(&known[i].repeats);
    }
    free(known);
}

void before_path(const char *directory, const char *base, uint64_t number,
                 char path[FILE_PATH_BYTES])
{
    snprintf(path, FILE_PATH_BYTES, "%.3700s/repros/%.256s.before-%" PRIu64 ".ops", directory, base,
             number);
}

void before_append_replay(struct writing *text, const char *directory, const char *base,
                          uint64_t count)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/repros/%.256s.ops", directory, base);
    writing_append(text, "hbmstress replay ");
    file_append_word(text, path);
    for (uint64_t i = 1; i <= count; i++) {
        before_path(directory, base, i, path);
        writing_append(text, " --after ");
        file_append_word(text, path);
    }
}

struct report_repeats before_report(const char *directory, const char *base, uint64_t count,
                                    bool is_unrepeated)
{
    char path[FILE_PATH_BYTES];
    const char **after = count == 0 ? NULL : calloc(count, sizeof *after);
    CHECK(count == 0 || after != NULL);
    for (uint64_t i = 0; i < count; i++) {
        before_path(directory, base, i + 1, path);
        after[i] = strdup(path);
        CHECK(after[i] != NULL);
    }
    return (struct report_repeats){
        .after = after, .after_count = count, .is_unrepeated = is_unrepeated};
}

void before_free_report(const struct report_repeats *repeats)
{
    for (size_t i = 0; i < repeats->after_count; i++) {
        free((char *)repeats->after[i]);
    }
    free((void *)repeats->after);
}

bool before_write(const char *directory, const char *base, const struct earlier *earlier)
{
    char path[FILE_PATH_BYTES], headline[96];
    bool is_written = true;
    for (size_t i = 0; i < earlier->count && is_written; i++) {
        before_path(directory, base, i + 1, path);
        snprintf(headline, sizeof headline, "the list %zu of %zu that must run before the repro",
                 i + 1, earlier->count);
        const struct repro repro = {.setup = &earlier->lists[i]->setup,
                                    .ops = &earlier->lists[i]->ops,
                                    .headline = headline,
                                    .is_unforced = true};
        is_written = repro_write(path, &repro) == EXIT_KEPT;
    }
    return is_written;
}

void before_forget(const char *directory, const char *base, uint64_t count)
{
    char path[FILE_PATH_BYTES];
    for (uint64_t i = 1; i <= count; i++) {
        before_path(directory, base, i, path);
        (void)unlink(path);
    }
}
