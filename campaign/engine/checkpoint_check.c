#include "campaign/engine/checkpoint.h"

#include "campaign/trials/earlier.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes.h"

#include <stddef.h>
#include <string.h>

/* Counts, bytes and nanoseconds stay below: some of them are added up. */
#define COUNT_MAX (UINT64_C(1) << 62)
#define DEVICE_BYTES_MAX (UINT64_C(1) << 50)
enum { SHARD_COUNT_MAX = 1000000, FILE_NAME_BYTES_MAX = 255 };
/* Names may have an extension of five bytes; ".before-4096.ops" has more. */
enum { BASE_LENGTH_MAX = FILE_NAME_BYTES_MAX - 16 };

/* --- fields --- */

enum field_kind {
    FIELD_TEXT,   /* ends in NUL */
    FIELD_WORD,   /* the same, without control characters */
    FIELD_NUMBER, /* from least to most */
    FIELD_STRUCT  /* has the fields `inner` */
};

/* A member of a struct, or each element of one that is an array.  A table ends without a name. */
struct checked_field {
    const char *name;
    enum field_kind kind;
    size_t offset, bytes, each_bytes;
    uint64_t least, most;
    const struct checked_field *inner;
};
#define SIZE(type, member) sizeof(((struct type *)0)->member)
#define ROW(type, member, kind, each, least, most, inner)                                          \
    {                                                                                              \
#member, kind, offsetof(struct type, member), SIZE(type, member), each, least, most, inner \
    }
#define TEXT(type, member) ROW(type, member, FIELD_TEXT, SIZE(type, member), 0, 0, NULL)
#define WORD(type, member) ROW(type, member, FIELD_WORD, SIZE(type, member), 0, 0, NULL)
#define WORDS(type, member) ROW(type, member, FIELD_WORD, SIZE(type, member[0]), 0, 0, NULL)
#define RANGE(type, member, least, most) \
    ROW(type, member, FIELD_NUMBER, SIZE(type, member), least, most, NULL)
#define NUMBER(type, member, most) RANGE(type, member, 0, most)
#define NUMBERS(type, member, most) \
    ROW(type, member, FIELD_NUMBER, SIZE(type, member[0]), 0, most, NULL)
#define FLAG(type, member) NUMBER(type, member, 1)
#define COUNT(type, member) NUMBER(type, member, COUNT_MAX)
#define STRUCTS(type, member, each, inner) \
    ROW(type, member, FIELD_STRUCT, sizeof(struct each), 0, 0, inner)
#define END          \
    {                \
        .name = NULL \
    }

static const struct checked_field option_fields[] = {
    WORD(setup_option, key),
    WORD(setup_option, value),
    END,
};
static const struct checked_field setup_fields[] = {
    WORD(setup, chip),
    NUMBER(setup, capacity_bytes, DEVICE_BYTES_MAX),
    NUMBER(setup, granule_bytes, DEVICE_BYTES_MAX),
    RANGE(setup, host_count, 1, OP_HOST_COUNT_MAX),
    WORD(setup, target),
    NUMBER(setup, option_count, SETUP_OPTION_COUNT_MAX),
    STRUCTS(setup, options, setup_option, option_fields),
    WORD(setup, scenario),
    FLAG(setup, has_regret_max),
    FLAG(setup, has_rounding),
    NUMBER(setup, rounding.kind, ROUNDING_CLASSES),
    NUMBER(setup, rounding.steps, 64),
    NUMBER(setup, rounding.smallest_bytes, DEVICE_BYTES_MAX),
    NUMBER(setup, rounding.overhead_bytes, DEVICE_BYTES_MAX),
    FLAG(setup, checks_races),
    FLAG(setup, has_tags),
    WORDS(setup, tags),
    NUMBERS(setup, weights, SETUP_WEIGHT_MAX),
    NUMBER(setup, until_step, COUNT_MAX),
    NUMBER(setup, scenario_option_count, SETUP_SCENARIO_OPTION_COUNT_MAX),
    STRUCTS(setup, scenario_options, setup_option, option_fields),
    END,
};
static const struct checked_field head_fields[] = {
    NUMBER(campaign_head, shard_count, SHARD_COUNT_MAX),
    FLAG(campaign_head, has_canary),
    FLAG(campaign_head, requires_probes),
    FLAG(campaign_head, allowance.has_unknown_rate),
    WORD(campaign_head, seed_source),
    STRUCTS(campaign_head, setup, setup, setup_fields),
    END,
};
static const struct checked_field part_fields[] = {
    WORD(campaign_part, name),
    TEXT(campaign_part, note),
    TEXT(campaign_part, how),
    WORD(campaign_part, faults),
    COUNT(campaign_part, fault_period),
    COUNT(campaign_part, first_round),
    COUNT(campaign_part, head_start),
    COUNT(campaign_part, stride),
    TEXT(campaign_part, trace),
    TEXT(campaign_part, job),
    COUNT(campaign_part, job_line),
    NUMBER(campaign_part, lanes.lane_count, OP_LANE_COUNT_MAX),
    FLAG(campaign_part, lanes.checks_races),
    WORD(campaign_part, lanes.strategy),
    WORD(campaign_part, lanes.backend),
    STRUCTS(campaign_part, setup, setup, setup_fields),
    END,
};
/* All members of run_totals are counts. */
static const struct checked_field totals_fields[] = {
    {"totals", FIELD_NUMBER, 0, sizeof(struct run_totals), sizeof(uint64_t), 0, COUNT_MAX, NULL},
    END,
};
static const struct checked_field state_fields[] = {
    COUNT(campaign_state, end.trials),
    COUNT(campaign_state, end.elapsed_ns),
    COUNT(campaign_state, end.verdicts_omitted),
    COUNT(campaign_state, end.trials_omitted),
    COUNT(campaign_state, end.certificates_checked),
    COUNT(campaign_state, end.known_count),
    FLAG(campaign_state, end.allowed.has_unknown_rate),
    FLAG(campaign_state, end.is_interrupted),
    FLAG(campaign_state, end.has_baseline),
    COUNT(campaign_state, mark.round),
    COUNT(campaign_state, mark.taken),
    COUNT(campaign_state, results_bytes),
    COUNT(campaign_state, queue_bytes),
    COUNT(campaign_state, limited_bytes),
    COUNT(campaign_state, certificate_count),
    COUNT(campaign_state, verdict_count),
    COUNT(campaign_state, canary_trials),
    FLAG(campaign_state, is_canary_reported),
    FLAG(campaign_state, is_disputed),
    FLAG(campaign_state, is_finished),
    FLAG(campaign_state, is_queue_told),
    COUNT(campaign_state, end.kept_count),
    COUNT(campaign_state, end.kept_bytes),
    COUNT(campaign_state, end.kept_omitted),
    STRUCTS(campaign_state, end.totals, run_totals, totals_fields),
    END,
};
static const struct checked_field part_state_fields[] = {
    COUNT(part_state, progress.taken),
    COUNT(part_state, progress.op_count),
    COUNT(part_state, progress.elapsed_ns),
    FLAG(part_state, progress.is_finished),
    COUNT(part_state, trials),
    COUNT(part_state, elapsed_ns),
    COUNT(part_state, findings_only_counted),
    COUNT(part_state, unknown_saved),
    COUNT(part_state, justified_saved),
    COUNT(part_state, look_count),
    COUNT(part_state, growing_count),
    COUNT(part_state, growth.first_bytes),
    COUNT(part_state, growth.last_bytes),
    COUNT(part_state, growth.count),
    WORD(part_state, growing_tag),
    COUNT(part_state, growth_trial),
    COUNT(part_state, note_trial),
    NUMBER(part_state, memory.point_count, MEMORY_TRACK_POINT_COUNT_MAX),
    COUNT(part_state, memory.added_count),
    COUNT(part_state, memory.stride),
    COUNT(part_state, memory.open_count),
    TEXT(part_state, note),
    STRUCTS(part_state, totals, run_totals, totals_fields),
    END,
};
static const struct checked_field finding_fields[] = {
    TEXT(finding, signature),
    WORD(finding, rule),
    TEXT(finding, reason),
    TEXT(finding, message),
    TEXT(finding, base),
    COUNT(finding, trial),
    RANGE(finding, count, 1, COUNT_MAX),
    COUNT(finding, first_order),
    COUNT(finding, seen_count),
    COUNT(finding, moved_count),
    COUNT(finding, stayed_count),
    COUNT(finding, unrepeated_count),
    COUNT(finding, counted_verdicts),
    TEXT(finding, moved_to),
    COUNT(finding, op_count),
    NUMBER(finding, before_count, EARLIER_LIST_COUNT_MAX),
    FLAG(finding, is_unrepeated),
    FLAG(finding, has_certificate),
    FLAG(finding, is_known),
    FLAG(finding, has_largest),
    FLAG(finding, largest.is_exact),
    END,
};
static const struct checked_field entry_fields[] = {
    FLAG(shrink_entry, task.is_sampled),
    FLAG(shrink_entry, task.is_kept),
    FLAG(shrink_entry, task.is_diagnosed),
    FLAG(shrink_entry, task.is_compared),
    FLAG(shrink_entry, task.has_list_kept),
    COUNT(shrink_entry, task.trial),
    NUMBER(shrink_entry, finding, RUN_FINDING_COUNT_MAX - 1),
    COUNT(shrink_entry, order),
    COUNT(shrink_entry, number),
    NUMBER(shrink_entry, state, SHRINK_DISPUTED),
    NUMBER(shrink_entry, is_superseded, SUPERSEDED_GONE),
    TEXT(shrink_entry, seen_as),
    TEXT(shrink_entry, base),
    TEXT(shrink_entry, signature),
    NUMBER(shrink_entry, verdict.kind, VERDICT_BROKEN),
    NUMBER(shrink_entry, verdict.rule, RULE_COUNT - 1),
    TEXT(shrink_entry, verdict.mechanism),
    TEXT(shrink_entry, verdict.reason),
    NUMBER(shrink_entry, seen.kind, VERDICT_BROKEN),
    NUMBER(shrink_entry, seen.rule, RULE_COUNT - 1),
    TEXT(shrink_entry, seen.mechanism),
    TEXT(shrink_entry, seen.reason),
    TEXT(shrink_entry, message),
    FLAG(shrink_entry, has_largest),
    FLAG(shrink_entry, largest.is_exact),
    COUNT(shrink_entry, op_count),
    COUNT(shrink_entry, lane_count),
    COUNT(shrink_entry, switch_count),
    FLAG(shrink_entry, has_certificate),
    NUMBER(shrink_entry, before_count, EARLIER_LIST_COUNT_MAX),
    FLAG(shrink_entry, is_unrepeated),
    END,
};

static bool is_word(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == '\x7f') {
            return false;
        }
    }
    return true;
}

/* Read as bytes: a bool or an enum that has no such value must not be looked at as one. */
static uint64_t read_number(const void *at, size_t bytes)
{
    uint64_t wide;
    uint32_t middle;
    uint16_t narrow;
    switch (bytes) {
    case sizeof wide:
        memcpy(&wide, at, sizeof wide);
        return wide;
    case sizeof middle:
        memcpy(&middle, at, sizeof middle);
        return middle;
    case sizeof narrow:
        memcpy(&narrow, at, sizeof narrow);
        return narrow;
    default:
        CHECK(bytes == 1);
        return *(const unsigned char *)at;
    }
}

static const char *find_wrong(const void *values, const struct checked_field *fields);

/* The field that cannot be, which may be one inside; NULL: all can. */
static const char *find_wrong_in(const struct checked_field *field, const char *at)
{
    bool is_good = false;
    if (field->kind == FIELD_STRUCT) {
        return find_wrong(at, field->inner);
    }
    if (field->kind == FIELD_NUMBER) {
        const uint64_t number = read_number(at, field->each_bytes);
        is_good = number >= field->least && number <= field->most;
    } else {
        is_good = memchr(at, '\0', field->each_bytes) != NULL &&
                  (field->kind == FIELD_TEXT || is_word(at));
    }
    return is_good ? NULL : field->name;
}

/* The first of the fields of *values that cannot be. */
static const char *find_wrong(const void *values, const struct checked_field *fields)
{
    const char *wrong = NULL;
    for (; fields->name != NULL && wrong == NULL; fields++) {
        const char *member = (const char *)values + fields->offset;
        for (size_t at = 0; at < fields->bytes && wrong == NULL; at += fields->each_bytes) {
            wrong = find_wrong_in(fields, member + at);
        }
    }
    return wrong;
}

/* --- the description --- */

static const char *check_head(const struct campaign_head *head)
{
    const char *wrong = find_wrong(head, head_fields);
    if (wrong != NULL) {
        return wrong;
    }
    if (head->shard_index >= head->shard_count) {
        return "shard_index";
    }
    if (head->part_count <= head->has_canary) {
        return "has_canary";
    }
    for (size_t i = 0; i < OOM_CLASS_COUNT; i++) {
        if (head->allowance.unknown_rates[i].part > head->allowance.unknown_rates[i].whole) {
            return "allowance.unknown_rates";
        }
    }
    return NULL;
}

const char *checkpoint_check_description(const struct campaign_description *description)
{
    const char *wrong = check_head(&description->head);
    for (size_t i = 0; i < description->head.part_count && wrong == NULL; i++) {
        wrong = find_wrong(&description->parts[i], part_fields);
    }
    return wrong;
}

/* --- parts --- */

static bool is_point(const struct memory_point *point)
{
    return point->op_count <= COUNT_MAX && point->used_bytes <= COUNT_MAX &&
           point->capacity_bytes <= COUNT_MAX && point->capacity_bytes > 0;
}

/* Returns true if the track is as memory_track_add() leaves it. */
static bool is_track(const struct memory_track *track)
{
    static const struct memory_track none;
    if (track->added_count == 0) {
        return memcmp(track, &none, sizeof none) == 0;
    }
    bool is_good = track->point_count > 0 && track->stride > 0 && track->open_count > 0 &&
                   is_point(&track->last) && is_point(&track->peak) && is_point(&track->fullest) &&
                   track->peak.used_bytes >= track->last.used_bytes;
    for (size_t i = 0; i < track->point_count && is_good; i++) {
        is_good = is_point(&track->points[i]) &&
                  (i == 0 || track->points[i - 1].op_count < track->points[i].op_count);
    }
    return is_good && track->last.op_count == track->points[track->point_count - 1].op_count;
}

static const char *check_part_state(const struct part_state *state)
{
    const char *wrong = find_wrong(state, part_state_fields);
    if (wrong != NULL) {
        return wrong;
    }
    if (state->growing_count > state->look_count) {
        return "growing_count";
    }
    if (state->growth.first_bytes > state->growth.last_bytes) {
        return "growth.first_bytes";
    }
    /* The next sample is taken at the ops of all trials: never before the last one. */
    const bool is_behind = state->memory.last.op_count <= state->totals.ops + state->totals.skipped;
    return is_track(&state->memory) && is_behind ? NULL : "memory";
}

/* --- files --- */

const char *const checkpoint_folders[] = {"repros", "certificates", "disputes", "unrepeated",
                                          "kept",   "output",       NULL};

static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strlen(name) <= FILE_NAME_BYTES_MAX && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && is_word(name);
}

static bool is_saved_name(const char *name)
{
    for (size_t i = 0; checkpoint_folders[i] != NULL; i++) {
        const size_t length = strlen(checkpoint_folders[i]);
        if (strncmp(name, checkpoint_folders[i], length) == 0 && name[length] == '/') {
            return is_file_name(name + length + 1);
        }
    }
    return false;
}

static bool is_base(const char *base)
{
    return is_file_name(base) && strlen(base) <= BASE_LENGTH_MAX;
}

static const char *check_saved_files(const struct writing *files)
{
    for (size_t at = 0; at < files->length; at += strlen(files->bytes + at) + 1) {
        if (!is_saved_name(files->bytes + at)) {
            return "saved_files";
        }
    }
    return NULL;
}

/* --- findings and the queue --- */

/* part_count: of those that can have findings. */
static const char *check_finding(const struct finding *finding, uint64_t part_count)
{
    const char *wrong = find_wrong(finding, finding_fields);
    if (wrong != NULL) {
        return wrong;
    }
    if (finding->signature[0] == '\0') {
        return "signature";
    }
    if (finding->base[0] != '\0' && !is_base(finding->base)) {
        return "base";
    }
    return finding->part >= part_count ? "part" : finding_find_wrong(finding);
}

/* Checks that no finding is there twice, and that verdicts moved to a finding that is there. */
static const char *check_findings(const struct findings *findings, uint64_t part_count)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < findings->count && wrong == NULL; i++) {
        wrong = check_finding(&findings->findings[i], part_count);
    }
    for (size_t i = 0; i < findings->count && wrong == NULL; i++) {
        const struct finding *finding = &findings->findings[i];
        if (findings_find(findings, finding->signature) != finding) {
            wrong = "signature";
        } else if (finding->moved_count > 0 && findings_find(findings, finding->moved_to) == NULL) {
            wrong = "moved_to";
        }
    }
    return wrong;
}

static bool is_broken_promise(const struct verdict *verdict)
{
    return verdict->rule != RULE_NONE &&
           (verdict->kind == VERDICT_PREMATURE || verdict->kind == VERDICT_BROKEN);
}

static const char *check_entry(const struct shrink_entry *entry, const struct findings *findings,
                               uint64_t part_count)
{
    const char *wrong = find_wrong(entry, entry_fields);
    if (wrong != NULL) {
        return wrong;
    }
    if (entry->task.part >= part_count) {
        return "task.part";
    }
    if (!is_base(entry->base)) {
        return "base";
    }
    if (!is_broken_promise(&entry->verdict)) {
        return "verdict";
    }
    if (!is_broken_promise(&entry->seen)) {
        return "seen";
    }
    return findings_find(findings, entry->seen_as) == NULL ||
                   findings_find(findings, entry->signature) == NULL
               ? "signature"
               : NULL;
}

/* --- where it stands --- */

const char *checkpoint_check_state(const struct checkpoint *checkpoint,
                                   const struct campaign_description *description)
{
    const struct campaign_head *head = &description->head;
    const struct campaign_state *state = &checkpoint->state;
    const uint64_t part_count = head->part_count, found_count = part_count - head->has_canary;
    uint64_t taken = 0;
    const char *wrong = check_findings(&checkpoint->findings, found_count);
    for (size_t i = 0; i < checkpoint->queue.count && wrong == NULL; i++) {
        wrong = check_entry(&checkpoint->queue.entries[i], &checkpoint->findings, found_count);
    }
    wrong = wrong == NULL ? find_wrong(state, state_fields) : wrong;
    for (uint64_t i = 0; i < part_count && wrong == NULL; i++) {
        wrong = check_part_state(&checkpoint->parts[i]);
        taken += checkpoint->parts[i].progress.taken;
    }
    if (wrong != NULL) {
        return wrong;
    }
    if (state->mark.part >= part_count) {
        return "mark.part";
    }
    return state->mark.taken != taken ? "mark.taken" : check_saved_files(&checkpoint->saved_files);
}
