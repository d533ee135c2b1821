/* What a campaign leaves on the disk: it is read back as it was, and no field that is damaged is
 * taken for one.  tests/snap/run_resume.snap has what is no file of a campaign. */
#include "campaign/engine/checkpoint.h"
#include "harness/base/option.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

EVERY_TEST(.teardown = snap_rest);

enum { PART_COUNT = 2 };

static struct campaign_description description;
static struct checkpoint checkpoint;

static void make_campaign(void)
{
    struct finding finding = {.part = 1, .count = 3};
    folder_enter("checkpoint");
    description = (struct campaign_description){
        .head = {.part_count = PART_COUNT, .shard_count = 2, .shard_index = 1, .plan_digest = 7},
        .parts = calloc(PART_COUNT, sizeof *description.parts)};
    setup_init(&description.head.setup);
    for (size_t i = 0; i < PART_COUNT; i++) {
        setup_init(&description.parts[i].setup);
    }
    strcpy(description.parts[1].name, "the second");
    description.head.argument_count = 2;
    writing_append_bytes(&description.arguments, "--seed\0007", 9);
    checkpoint = (struct checkpoint){.parts = calloc(PART_COUNT, sizeof *checkpoint.parts)};
    checkpoint.state.mark = (struct trials_mark){4, 1, 9};
    checkpoint.parts[0].progress.taken = 4;
    checkpoint.parts[1].progress.taken = 5;
    checkpoint.parts[1].trials = 5;
    checkpoint.parts[1].totals.ops = 20;
    for (uint64_t i = 1; i <= 3; i++) {
        memory_track_add(&checkpoint.parts[1].memory, (struct memory_point){5 * i, i, 10});
    }
    strcpy(finding.signature, "counters: x");
    (void)findings_add(&checkpoint.findings, &finding);
    writing_append_bytes(&checkpoint.saved_files, "repros/a.ops", 13);
}

static bool save_checkpoint(void)
{
    return checkpoint_stage(&checkpoint, &description, folder) && checkpoint_commit(folder);
}

static void save_campaign(void)
{
    ck_assert(campaign_description_save(&description, folder));
    ck_assert(save_checkpoint());
}

static void end_campaign(void)
{
    campaign_description_deinit(&description);
    checkpoint_deinit(&checkpoint);
    checkpoint_forget(folder);
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left there */
}

/* Shows what is said of what is there. */
static void load(void)
{
    struct campaign_description read;
    struct checkpoint at;
    enum exit_code code;
    HEAR(code = checkpoint_load(folder, &read, &at));
    show(code == EXIT_KEPT ? "it is read\n" : "");
    ck_assert(code == EXIT_KEPT || code == EXIT_USAGE);
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
}

/* Saves what was made, and shows whether it is read. */
static void check_made(const char *what)
{
    save_campaign();
    show("%s: ", what);
    load();
    end_campaign();
}

TEST(a_campaign_is_read_back_as_it_was)
{
    struct campaign_description read;
    struct checkpoint at;
    make_campaign();
    save_campaign();
    ck_assert_int_eq(checkpoint_load(folder, &read, &at), EXIT_KEPT);
    ck_assert_int_eq(memcmp(&read.head, &description.head, sizeof read.head), 0);
    ck_assert_int_eq(memcmp(read.arguments.bytes, "--seed\0007", 9), 0);
    ck_assert_int_eq(memcmp(&at.state, &checkpoint.state, sizeof at.state), 0);
    const struct finding *finding = &at.findings.findings[0];
    SHOW(read.parts[1].name, read.arguments.length, at.parts[1].trials, at.findings.count,
         finding->signature, finding->count, at.saved_files.bytes);
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
    writing_clear(&description.arguments);
    description.head.argument_count = 0;
    writing_clear(&checkpoint.saved_files);
    findings_deinit(&checkpoint.findings);
    check_made("without arguments, findings and files");
}

TEST(what_is_forgotten_is_gone)
{
    make_campaign();
    save_campaign();
    ck_assert(folder_has("campaign") && folder_has("checkpoint"));
    checkpoint_forget(folder);
    ck_assert(!folder_has("campaign") && !folder_has("checkpoint"));
    end_campaign();
}

TEST(a_file_that_cannot_be_written_is_told)
{
    make_campaign();
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert(!campaign_description_save(&description, folder));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!save_checkpoint());
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    end_campaign();
}

/* Files whose sums are right, and whose lengths are not. */
TEST(counts_that_cannot_be_are_refused)
{
    static const struct {
        const char *what;
        uint64_t part_count, argument_count;
        const char *more_arguments, *more_files;
    } rows[] = {{"no part", 0, 2, "", ""},
                {"an argument more", PART_COUNT, 3, "", ""},
                {"an argument less", PART_COUNT, 1, "", ""},
                {"an argument without end", PART_COUNT, 2, "x", ""},
                {"a file without end", PART_COUNT, 2, "", "x"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_campaign();
        description.head.part_count = rows[i].part_count;
        description.head.argument_count = rows[i].argument_count;
        writing_append(&description.arguments, rows[i].more_arguments);
        writing_append(&checkpoint.saved_files, rows[i].more_files);
        check_made(rows[i].what);
    }
    make_campaign();
    save_campaign();
    description.head.plan_digest++;
    ck_assert(campaign_description_save(&description, folder));
    show("both are whole, and each is of another campaign: ");
    load();
    end_campaign();
}

/* --- each field, damaged --- */

enum { ROW_COUNT_MAX = 64 };
static struct damaged {
    const char *what;
    void *at;
    size_t bytes;
    const char *text; /* that begins it, else all of it has its value */
    uint64_t value;
} rows[ROW_COUNT_MAX];
static size_t row_count;

#define FIELD(member) (void *)&(member), sizeof(member)
/* All bits of the number are set; a text has no NUL, or a control character. */
#define FULL(member)                             \
    {                                            \
#member, FIELD(member), NULL, UINT64_MAX \
    }
#define NO_END(member)                             \
    {                                              \
        "no end of " #member, FIELD(member), "", 0 \
    }
#define ESCAPE(member)                                         \
    {                                                          \
        "an escape in " #member, FIELD(member), "a\033[2Jb", 0 \
    }
#define SET(member, value)                               \
    {                                                    \
#member " = " #value, FIELD(member), NULL, value \
    }
#define ROWS(...)                                    \
    do {                                             \
        const struct damaged made[] = {__VA_ARGS__}; \
        row_count = sizeof made / sizeof *made;      \
        ck_assert_uint_le(row_count, ROW_COUNT_MAX); \
        memcpy(rows, made, sizeof made);             \
    } while (0)

static void damage_field(const struct damaged *row)
{
    if (row->text != NULL) {
        memset(row->at, 'x', row->bytes);
        memcpy(row->at, row->text, strlen(row->text) + (row->text[0] != '\0'));
    } else if (row->value == UINT64_MAX) {
        memset(row->at, 0xff, row->bytes);
    } else {
        number_store(row->at, row->bytes, row->value);
    }
}

/* One after the other; fill fills the rows for the campaign that was made. */
static void check_rows(void (*fill)(void))
{
    row_count = 1;
    for (size_t i = 0; i < row_count; i++) {
        make_campaign();
        fill();
        damage_field(&rows[i]);
        check_made(rows[i].what);
    }
    make_campaign();
    fill();
    check_made("none of them");
}

/* clang-format off */
static void fill_campaign(void)
{
    struct campaign_head *head = &description.head;
    struct campaign_part *part = &description.parts[1];
    struct setup *setup = &part->setup;
    ROWS(FULL(head->shard_index), FULL(head->shard_count), FULL(head->has_canary),
         FULL(head->requires_probes), FULL(head->allowance.has_unknown_rate),
         FULL(head->allowance.unknown_rates[1].part), NO_END(head->seed_source),
         ESCAPE(head->seed_source), FULL(head->setup.host_count), NO_END(head->setup.target),
         NO_END(part->name), ESCAPE(part->name), NO_END(part->note), NO_END(part->job),
         FULL(part->job_line), NO_END(part->faults), ESCAPE(part->faults),
         FULL(part->lanes.lane_count), FULL(part->lanes.checks_races),
         NO_END(part->lanes.strategy), NO_END(part->lanes.backend), NO_END(setup->chip),
         ESCAPE(setup->chip), FULL(setup->capacity_bytes), FULL(setup->granule_bytes),
         FULL(setup->host_count), ESCAPE(setup->target), FULL(setup->option_count),
         NO_END(setup->options[15].key), ESCAPE(setup->options[0].value), NO_END(setup->scenario),
         FULL(setup->has_regret_max), FULL(setup->has_rounding), FULL(setup->rounding.kind),
         FULL(setup->rounding.steps), FULL(setup->rounding.smallest_bytes),
         FULL(setup->rounding.overhead_bytes), FULL(setup->checks_races), FULL(setup->has_tags),
         NO_END(setup->tags[255]), ESCAPE(setup->tags[7]), FULL(setup->weights[3]));
}

static void fill_state(void)
{
    struct campaign_state *state = &checkpoint.state;
    struct part_state *part = &checkpoint.parts[1];
    ROWS(FULL(state->end.trials), FULL(state->end.elapsed_ns), FULL(state->end.verdicts_omitted),
         FULL(state->end.trials_omitted), FULL(state->end.certificates_checked),
         FULL(state->end.known_count), FULL(state->end.allowed.has_unknown_rate),
         FULL(state->end.is_interrupted), FULL(state->end.has_baseline),
         FULL(state->end.totals.ooms), FULL(state->end.totals.probes[5]), FULL(state->mark.round),
         FULL(state->mark.part), FULL(state->mark.taken), FULL(state->results_bytes),
         FULL(state->certificate_count), FULL(state->canary_trials),
         FULL(state->is_canary_reported), FULL(state->is_disputed), FULL(state->is_finished),
         FULL(part->progress.taken), FULL(part->progress.op_count),
         FULL(part->progress.elapsed_ns), FULL(part->progress.is_finished),
         FULL(part->totals.unknown), FULL(part->trials), FULL(part->elapsed_ns),
         FULL(part->findings_only_counted), FULL(part->unknown_saved), FULL(part->justified_saved),
         FULL(part->look_count), FULL(part->growing_count), FULL(part->growth.first_bytes),
         FULL(part->growth.last_bytes), NO_END(part->growing_tag), ESCAPE(part->growing_tag),
         NO_END(part->note), FULL(part->memory.point_count), FULL(part->memory.added_count),
         FULL(part->memory.stride), FULL(part->memory.open_count),
         FULL(part->memory.last.op_count), FULL(part->memory.last.used_bytes),
         FULL(part->memory.peak.capacity_bytes), FULL(part->memory.fullest.capacity_bytes),
         FULL(part->memory.points[1].op_count), FULL(checkpoint.parts[0].memory.points[63]));
}

static void fill_finding(void)
{
    struct finding *finding = &checkpoint.findings.findings[0];
    ROWS(NO_END(finding->signature), NO_END(finding->rule), ESCAPE(finding->rule),
         NO_END(finding->reason), NO_END(finding->message), NO_END(finding->base),
         ESCAPE(finding->base), FULL(finding->part), FULL(finding->trial), FULL(finding->count),
         FULL(finding->moved_count), FULL(finding->first_order), FULL(finding->seen_count),
         FULL(finding->stayed_count), FULL(finding->unrepeated_count),
         FULL(finding->counted_verdicts), FULL(finding->before_count),
         FULL(finding->is_unrepeated), NO_END(finding->moved_to), FULL(finding->op_count),
         FULL(finding->has_certificate), FULL(finding->is_known), FULL(finding->has_largest),
         FULL(finding->largest.is_exact));
}

/* One that waits, of the finding that is there. */
static struct shrink_entry *add_entry(void)
{
    struct shrink_entry entry;
    memset(&entry, 0, sizeof entry);
    strcpy(entry.seen_as, checkpoint.findings.findings[0].signature);
    strcpy(entry.signature, entry.seen_as);
    strcpy(entry.base, "counters-part-7");
    entry.verdict = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_COUNTERS};
    entry.seen = entry.verdict;
    entry.number = entry.order = 1;
    shrink_queue_restore(&checkpoint.queue, &entry);
    return &checkpoint.queue.entries[0];
}

static void fill_entry(void)
{
    struct shrink_entry *entry = add_entry();
    ROWS(FULL(entry->task.is_sampled), FULL(entry->task.is_kept), FULL(entry->task.is_diagnosed),
         FULL(entry->task.is_compared), FULL(entry->task.has_list_kept), FULL(entry->task.trial),
         FULL(entry->task.part), FULL(entry->finding), FULL(entry->order), FULL(entry->number),
         FULL(entry->state), FULL(entry->is_superseded), NO_END(entry->seen_as),
         NO_END(entry->base), ESCAPE(entry->base), NO_END(entry->signature),
         ESCAPE(entry->signature), FULL(entry->verdict.kind), FULL(entry->verdict.rule),
         NO_END(entry->verdict.mechanism), NO_END(entry->verdict.reason), NO_END(entry->message),
         FULL(entry->has_largest), FULL(entry->largest.is_exact), FULL(entry->op_count),
         FULL(entry->lane_count), FULL(entry->switch_count), FULL(entry->has_certificate),
         FULL(entry->before_count), FULL(entry->is_unrepeated));
}

/* Where verdicts moved to must be a finding, too; and there are no more of them than were seen. */
static void fill_verdicts(void)
{
    struct finding *finding = &checkpoint.findings.findings[0];
    struct shrink_entry *entry = add_entry();
    finding->seen_count = finding->count;
    ROWS(SET(finding->moved_count, 1), SET(finding->unrepeated_count, finding->count + 1),
         SET(finding->stayed_count, finding->count + 1),
         SET(entry->verdict.kind, VERDICT_JUSTIFIED));
}

/* Numbers that are in their range, and belong to no campaign. */
static void fill_contradictions(void)
{
    struct campaign_head *head = &description.head;
    struct part_state *part = &checkpoint.parts[1];
    struct memory_track *memory = &part->memory;
    struct campaign_state *state = &checkpoint.state;
    struct finding *finding = &checkpoint.findings.findings[0];
    ROWS(SET(head->shard_index, head->shard_count), SET(head->setup.host_count, 0),
         SET(part->growing_count, part->look_count + 1), SET(part->growth.first_bytes, 1),
         SET(memory->last.capacity_bytes, 0), SET(memory->peak.capacity_bytes, 0),
         SET(memory->points[2].op_count, memory->points[1].op_count), SET(memory->point_count, 0),
         SET(memory->stride, 0), SET(part->totals.ops, memory->last.op_count - 1),
         SET(state->mark.taken, state->mark.taken - 1), SET(state->mark.part, PART_COUNT),
         SET(finding->part, PART_COUNT), SET(finding->count, 0),
         SET(finding->moved_count, finding->count + 1), SET(finding->signature[0], 0),
         SET(head->has_canary, 1) /* which has no findings */);
}
/* clang-format on */

static const struct {
    const char *what;
    void (*fill)(void);
} fills[] = {{"campaign", fill_campaign}, {"state", fill_state},
             {"finding", fill_finding},   {"entry", fill_entry},
             {"verdicts", fill_verdicts}, {"numbers", fill_contradictions}};
enum { FILL_COUNT = sizeof fills / sizeof *fills };

TEST(a_damaged_field_is_refused, .to = FILL_COUNT)
{
    show("of the %s:\n", fills[_i].what);
    check_rows(fills[_i].fill);
}

TEST(fields_that_contradict_each_other_are_refused)
{
    make_campaign();
    description.head.part_count = description.head.has_canary = 1;
    check_made("no part but the canary");
    make_campaign();
    description.head.shard_count = description.head.shard_index = 0;
    check_made("no shard");
    make_campaign();
    struct finding *finding = &checkpoint.findings.findings[0];
    (void)add_entry();
    finding->seen_count = finding->count;
    finding->moved_count = 1;
    strcpy(finding->moved_to, "counters: nowhere");
    check_made("moved to no finding");
    make_campaign();
    struct finding twin = checkpoint.findings.findings[0];
    strcpy(twin.signature, "another");
    strcpy(findings_add(&checkpoint.findings, &twin)->signature, "counters: x");
    check_made("two findings of one signature");
}

TEST(an_entry_of_the_queue_is_read_back)
{
    struct campaign_description read;
    struct checkpoint at;
    make_campaign();
    (void)add_entry();
    save_campaign();
    ck_assert_int_eq(checkpoint_load(folder, &read, &at), EXIT_KEPT);
    ck_assert_uint_eq(at.queue.count, 1);
    ck_assert_str_eq(at.queue.entries[0].base, "counters-part-7");
    checkpoint_deinit(&at);
    campaign_description_deinit(&read);
    end_campaign();
}

TEST(names_outside_of_the_folders_are_refused)
{
    static const char *const files[] = {
        "",           "repros",      "repros/",      "repros/..",         "repros/.", "/etc/passwd",
        "repros/a/b", "../repros/a", "summary.json", "certificates/a\nb", "reprosx/a"};
    static const char *const bases[] = {"..", ".", "a/b", "/etc/passwd", "../a"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        make_campaign();
        writing_clear(&checkpoint.saved_files);
        writing_append_bytes(&checkpoint.saved_files, files[i], strlen(files[i]) + 1);
        check_made(files[i]);
    }
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        make_campaign();
        strcpy(checkpoint.findings.findings[0].base, bases[i]);
        check_made(bases[i]);
    }
}
