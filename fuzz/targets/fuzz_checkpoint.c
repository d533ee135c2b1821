/* Checks that the two files of a campaign's folder, made by a stranger, are refused with a reason
 * or do no harm, whatever watch, merge, baseline and --resume do with them.
 *
 * An input is edits of a sound campaign, because its files are long and end in a checksum:
 *
 *     byte 0    parts (1 to 3), findings (0 to 3), bit 4: a canary, bit 5: the heads may differ
 *     12 bytes  an edit, again and again: which struct, what is done, how far in, with what
 *
 * The edited files get the sizes and checksums that a stranger would give them. */
#include "campaign/engine/campaign_view.h"
#include "campaign/engine/checkpoint.h"
#include "campaign/engine/findings.h"
#include "campaign/engine/whole.h"
#include "campaign/trials/trials.h"
#include "fuzz/engine.h"
#include "fuzz/finding.h"
#include "fuzz/text_check.h"
#include "harness/base/check.h"
#include "present/memory_chart.h"
#include "present/reporter.h"
#include "scenarios/scenarios.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "fuzz_checkpoint";

enum {
    HEAD_BYTES = 40, /* magic, sizes, checksum: checkpoint_seal() writes them anew */
    PART_COUNT_MAX = 3,
    FINDING_COUNT_MAX = 3,
    EDIT_BYTES = 12,
    EDIT_COUNT_MAX = 64,
    TRIAL_COUNT = 8,
    CHART_WIDTH = 80,
    ALARM_PERCENT = 90,
    TEXT_BYTES_MAX = 1 << 26,
};

/* --- a sound campaign --- */

struct sound {
    struct campaign_description description;
    struct checkpoint at;
    struct plan plan; /* that its --resume would make */
};

static void make_part(struct sound *sound, size_t i)
{
    struct campaign_part *part = &sound->description.parts[i];
    struct part_state *state = &sound->at.parts[i];
    struct part *planned = &sound->plan.parts[i];
    snprintf(part->name, sizeof part->name, "part %zu", i);
    snprintf(part->setup.scenario, sizeof part->setup.scenario, "slow_leak");
    part->setup.capacity_bytes = 1 << 20;
    part->op_count_max = part->duration_ns = UINT64_MAX;
    part->trial_count_max = TRIAL_COUNT;
    snprintf(state->growing_tag, sizeof state->growing_tag, "losses");
    state->growth = (struct growth){.first_bytes = 1, .last_bytes = 2, .count = 3};
    state->progress = (struct trials_progress){.taken = 2, .op_count = 100, .elapsed_ns = 7};
    state->trials = state->look_count = state->growing_count = 2;
    state->totals.ops = 100;
    for (uint64_t k = 1; k <= 4; k++) {
        memory_track_add(&state->memory, (struct memory_point){25 * k, k, 4});
    }
    planned->scenario = scenario_find("slow_leak");
    CHECK(planned->scenario != NULL);
    planned->op_count_max = planned->duration_ns = UINT64_MAX;
    planned->trial_count_max = TRIAL_COUNT;
}

static void make_finding(struct sound *sound, size_t i)
{
    struct finding finding;
    memset(&finding, 0, sizeof finding);
    snprintf(finding.signature, sizeof finding.signature, "counters: %zu", i);
    snprintf(finding.rule, sizeof finding.rule, "counters");
    snprintf(finding.base, sizeof finding.base, "counters-part-%zu", i);
    finding.count = i + 1;
    finding.has_certificate = finding.has_largest = i & 1;
    finding.seen_count = finding.count;
    (void)findings_add(&sound->at.findings, &finding);
}

/* Makes an entry for the finding, which waits to be shrunk. */
static void make_entry(struct sound *sound, size_t i)
{
    const struct finding *finding = &sound->at.findings.findings[i];
    struct shrink_entry entry;
    memset(&entry, 0, sizeof entry);
    snprintf(entry.seen_as, sizeof entry.seen_as, "%s", finding->signature);
    snprintf(entry.signature, sizeof entry.signature, "%s", finding->signature);
    snprintf(entry.base, sizeof entry.base, "%s", finding->base);
    entry.verdict.kind = VERDICT_BROKEN;
    entry.verdict.rule = RULE_COUNTERS;
    entry.seen = entry.verdict;
    entry.number = entry.order = i + 1;
    shrink_queue_restore(&sound->at.queue, &entry);
}

static void sound_init(struct sound *sound, uint8_t shape)
{
    const size_t part_count = 1u + (shape & 3u) % PART_COUNT_MAX;
    const bool has_canary = (shape & 16) != 0 && part_count > 1;
    *sound = (struct sound){.plan = {.count = part_count, .shard_count = 2}};
    struct campaign_head *head = &sound->description.head;
    *head = (struct campaign_head){.duration_ns = UINT64_MAX,
                                   .shard_count = 2,
                                   .part_count = part_count,
                                   .argument_count = 2,
                                   .has_canary = has_canary,
                                   .requires_probes = 1};
    setup_init(&head->setup);
    writing_append_bytes(&sound->description.arguments, "--seed\0007", 9);
    sound->description.parts = calloc(part_count, sizeof *sound->description.parts);
    sound->at.parts = calloc(part_count, sizeof *sound->at.parts);
    sound->plan.parts = calloc(part_count, sizeof *sound->plan.parts);
    CHECK(sound->description.parts != NULL && sound->at.parts != NULL && sound->plan.parts != NULL);
    for (size_t i = 0; i < part_count; i++) {
        setup_init(&sound->description.parts[i].setup);
        make_part(sound, i);
    }
    for (size_t i = 0; i < (size_t)(shape >> 2 & 3) % (FINDING_COUNT_MAX + 1); i++) {
        make_finding(sound, i);
        make_entry(sound, i);
    }
    sound->at.state.mark = (struct trials_mark){4, 0, 2 * part_count};
    writing_append_bytes(&sound->at.saved_files, "repros/unknown-part-1-op3.ops", 30);
}

static void sound_deinit(struct sound *sound)
{
    campaign_description_deinit(&sound->description);
    checkpoint_deinit(&sound->at);
    free(sound->plan.parts);
}

/* --- edits --- */

/* The files, and where their structs lie. */
struct files {
    struct writing campaign, checkpoint;
};
struct file_region {
    struct writing *file;
    size_t start, bytes;
};
enum { REGION_COUNT_MAX = 2 + 2 * PART_COUNT_MAX + 2 * FINDING_COUNT_MAX + 5 };

static size_t find_regions(struct files *files, const struct sound *sound,
                           struct file_region regions[REGION_COUNT_MAX])
{
    const size_t part_count = sound->description.head.part_count;
    const struct { /* count structs of so many bytes; 0: whatever is left of the file */
        struct writing *file;
        size_t count, bytes;
    } rows[] = {{&files->campaign, 1, sizeof(struct campaign_head)},
                {&files->campaign, part_count, sizeof(struct campaign_part)},
                {&files->campaign, 1, 0},
                {&files->checkpoint, 1, sizeof(struct campaign_state)},
                {&files->checkpoint, part_count, sizeof(struct part_state)},
                {&files->checkpoint, 1, sizeof(uint64_t)},
                {&files->checkpoint, sound->at.findings.count, sizeof(struct finding)},
                {&files->checkpoint, 1, sizeof(uint64_t)},
                {&files->checkpoint, sound->at.queue.count, sizeof(struct shrink_entry)},
                {&files->checkpoint, 1, 0}};
    size_t count = 0, at = HEAD_BYTES;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (size_t i = 0; i < rows[row].count; i++, at += rows[row].bytes) {
            CHECK(count < REGION_COUNT_MAX);
            regions[count++] = (struct file_region){
                rows[row].file, at,
                rows[row].bytes != 0 ? rows[row].bytes : rows[row].file->length - at};
        }
        at = row == 2 ? HEAD_BYTES + sizeof(struct campaign_head) : at;
    }
    return count;
}

/* Names of tags are most of a setup, and all alike: edits of a setup seldom fall there. */
static size_t choose_offset(const struct file_region *region, uint32_t place)
{
    const size_t tags = offsetof(struct setup, tags);
    const size_t tags_bytes = sizeof((struct setup *)0)->tags - SETUP_NAME_BYTES;
    if (region->bytes < sizeof(struct setup) || (place & 15) == 0) {
        return place / 16 % region->bytes;
    }
    const size_t setup = region->bytes == sizeof(struct campaign_part)
                             ? offsetof(struct campaign_part, setup)
                             : offsetof(struct campaign_head, setup);
    const size_t offset = place / 16 % (region->bytes - tags_bytes);
    return offset < setup + tags ? offset : offset + tags_bytes;
}

enum edit_kind {
    EDIT_BYTE,
    EDIT_NUMBER,
    EDIT_POWER,
    EDIT_ADD,
    EDIT_FILL,
    EDIT_COPY,
    EDIT_CUT,
    EDIT_APPEND,
    EDIT_KIND_COUNT
};

/* Makes the number that is there `factor` (0 or 1) times itself and so much more. */
static void write_number(const struct file_region *region, size_t offset, uint64_t factor,
                         uint64_t more)
{
    uint64_t number = 0;
    const size_t at = offset / sizeof number * sizeof number;
    if (at + sizeof number <= region->bytes) {
        char *const place = region->file->bytes + region->start + at;
        memcpy(&number, place, sizeof number);
        number = factor * number + more;
        memcpy(place, &number, sizeof number);
    }
}

static void edit(const struct file_region *region, const uint8_t bytes[EDIT_BYTES])
{
    uint32_t place, value;
    memcpy(&place, bytes + 4, sizeof place);
    memcpy(&value, bytes + 8, sizeof value);
    if (region->bytes == 0 || region->start + region->bytes > region->file->length) {
        return; /* it was cut */
    }
    const size_t offset = choose_offset(region, place), left = region->bytes - offset;
    const size_t length = bytes[2] < left ? bytes[2] : left, from = value % region->bytes;
    char *at = region->file->bytes + region->start + offset;
    const enum edit_kind kind = (enum edit_kind)(bytes[1] % EDIT_KIND_COUNT);
    switch (kind) {
    case EDIT_BYTE:
        *at = (char)value;
        break;
    case EDIT_NUMBER:
    case EDIT_ADD:
        write_number(region, offset, kind == EDIT_ADD, (uint64_t)(int64_t)(int32_t)value);
        break;
    case EDIT_POWER:
        write_number(region, offset, 0, (UINT64_C(1) << value % 64) - (value >> 8 & 1));
        break;
    case EDIT_FILL:
        memset(at, (int)(value & 255), length);
        break;
    case EDIT_COPY:
        memmove(at, region->file->bytes + region->start + from,
                length < region->bytes - from ? length : region->bytes - from);
        break;
    case EDIT_CUT:
        region->file->length = region->start + offset;
        break;
    default:
        writing_append_bytes(region->file, bytes + 4, 8);
        break;
    }
}

static void edit_files(struct files *files, const struct sound *sound, const uint8_t *bytes,
                       size_t length)
{
    struct file_region regions[REGION_COUNT_MAX];
    const size_t count = find_regions(files, sound, regions);
    for (size_t i = 0; i < EDIT_COUNT_MAX && length >= EDIT_BYTES;
         i++, bytes += EDIT_BYTES, length -= EDIT_BYTES) {
        edit(&regions[bytes[0] % count], bytes);
    }
}

/* --- what is done with it --- */

/* Text for people keeps to its lines, JSON and XML have no control characters at all. */
static bool look_at_text(void *context, const struct report_sink *sink, enum report_kind kind,
                         const struct writing *text)
{
    (void)context, (void)kind;
    for (size_t i = 0; i < text->length; i++) {
        if ((unsigned char)text->bytes[i] < ' ' && text->bytes[i] != '\n') {
            finding_end_check(name, FINDING_REASON_UNPRINTABLE, "%s prints byte %u", sink->name,
                              (unsigned char)text->bytes[i]);
        }
    }
    CHECK(text->length < TEXT_BYTES_MAX);
    return true;
}

static void report(const struct campaign_description *description, const struct checkpoint *at)
{
    struct campaign_view view;
    struct reporter reporter;
    reporter_init(&reporter, look_at_text, NULL);
    campaign_view_init(&view, description, "out");
    (void)reporter_start(&reporter, &view.start);
    (void)campaign_view_missed_probes(&view, at);
    const struct report_campaign campaign = campaign_view_report(&view, at);
    (void)reporter_campaign(&reporter, &campaign);
    watch_init(&view.watch, true, false);
    watch_resize(&view.watch, CHART_WIDTH, 0);
    watch_print(&view.watch, &campaign, 0, &view.text);
    campaign_view_deinit(&view);
    reporter_deinit(&reporter);
}

/* Prints the baseline and draws the memory of each part. */
static void print_rest(const struct campaign_description *description, struct checkpoint *at)
{
    const struct memory_chart chart = {.alarm_percent = ALARM_PERCENT, .width = CHART_WIDTH};
    struct writing text;
    writing_init(&text);
    baseline_print(&at->findings, "hbm", &text);
    for (uint64_t i = 0; i < description->head.part_count; i++) {
        struct part_state *state = &at->parts[i];
        const struct memory_device device = {description->parts[i].name, &state->memory, NULL};
        if (state->memory.point_count > 0) {
            (void)memory_chart_draw(&chart, &device, &text);
            memory_chart_json(&chart, &device, &text);
        }
        memory_track_add(&state->memory,
                         (struct memory_point){state->totals.ops + state->totals.skipped, 1, 2});
    }
    writing_deinit(&text);
}

static void merge(const struct campaign_description *description, struct checkpoint *at)
{
    const size_t part_count = description->head.part_count;
    struct checkpoint whole;
    campaign_join_begin(&whole, part_count);
    campaign_join_add(&whole, at, part_count);
    campaign_join_add(&whole, at, part_count);
    whole.state.end.allowed = allowance_of_run(&description->head.allowance,
                                               whole.state.end.totals.ooms);
    report(description, &whole);
    checkpoint_deinit(&whole);
}

/* Goes on with the campaign, as far as that is possible without a target. */
static void go_on(const struct plan *plan, const struct campaign_description *description,
                  const struct checkpoint *at)
{
    struct trials_progress progress[PART_COUNT_MAX];
    struct trial_result result;
    struct task task;
    if (description->head.part_count != plan->count) {
        return;
    }
    for (size_t i = 0; i < plan->count; i++) {
        progress[i] = at->parts[i].progress;
    }
    if (!trials_can_restore(plan, &at->state.mark, progress, sizeof *progress)) {
        return;
    }
    struct trials *trials = trials_create(plan, 1, TRIAL_COUNT);
    trials_restore(trials, &at->state.mark, progress, sizeof *progress);
    for (size_t i = 0; i < TRIAL_COUNT && trials_next(trials, &task); i++) {
        trial_result_init(&result);
        result.head.task = task;
        result.head.totals.ops = task.op_count_max;
        trials_put(trials, &result);
        trial_result_deinit(&result);
    }
    while (trials_take(trials, &result)) {
        trial_result_deinit(&result);
    }
    (void)trials_save(trials, progress, sizeof *progress);
    trials_destroy(trials);
}

/* Writes what was accepted, and requires that it is read as the same. */
static void check_round_trip(const struct campaign_description *description,
                             const struct checkpoint *at)
{
    struct campaign_description again;
    struct checkpoint at_again;
    struct writing first, second;
    char reason[CHECKPOINT_REASON_BYTES];
    writing_init(&first);
    writing_init(&second);
    campaign_description_print(description, &first);
    const char *refused = campaign_description_parse(&first, &again, reason);
    writing_clear(&first);
    checkpoint_print(at, description, &first);
    if (refused == NULL) {
        refused = checkpoint_parse(&first, &again, &at_again, reason);
    } else {
        at_again = (struct checkpoint){0};
    }
    if (refused == NULL) {
        checkpoint_print(&at_again, &again, &second);
    }
    if (refused != NULL || first.length != second.length ||
        memcmp(first.bytes, second.bytes, first.length) != 0) {
        finding_end_check(name, FINDING_TEXT_CHANGED, "a campaign that was accepted: %s",
                          refused == NULL ? "other bytes" : refused);
    }
    campaign_description_deinit(&again);
    checkpoint_deinit(&at_again);
    writing_deinit(&first);
    writing_deinit(&second);
}

static void play(const struct files *files, const struct plan *plan)
{
    struct campaign_description description;
    struct checkpoint at = {0};
    char reason[CHECKPOINT_REASON_BYTES];
    const char *refused = campaign_description_parse(&files->campaign, &description, reason);
    if (refused == NULL) {
        refused = checkpoint_parse(&files->checkpoint, &description, &at, reason);
    }
    if (refused != NULL) {
        text_check_ascii(name, refused, strlen(refused) + 1);
    } else {
        check_round_trip(&description, &at);
        report(&description, &at);
        merge(&description, &at);
        go_on(plan, &description, &at);
        print_rest(&description, &at);
    }
    campaign_description_deinit(&description);
    checkpoint_deinit(&at);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct sound sound;
    struct files files = {0};
    if (length == 0) {
        return 0;
    }
    sound_init(&sound, bytes[0]);
    campaign_description_print(&sound.description, &files.campaign);
    checkpoint_print(&sound.at, &sound.description, &files.checkpoint);
    edit_files(&files, &sound, bytes + 1, length - 1);
    const size_t heads_bytes = HEAD_BYTES + sizeof(struct campaign_head);
    if ((bytes[0] & 32) == 0 && files.campaign.length >= heads_bytes &&
        files.checkpoint.length >= heads_bytes) { /* both files belong to one campaign */
        memcpy(files.checkpoint.bytes + HEAD_BYTES, files.campaign.bytes + HEAD_BYTES,
               sizeof(struct campaign_head));
    }
    struct writing *const both[] = {&files.campaign, &files.checkpoint};
    for (size_t i = 0; i < 2; i++) {
        if (both[i]->length >= HEAD_BYTES) {
            checkpoint_seal(both[i]);
        }
    }
    play(&files, &sound.plan);
    writing_deinit(&files.campaign);
    writing_deinit(&files.checkpoint);
    sound_deinit(&sound);
    return 0;
}
