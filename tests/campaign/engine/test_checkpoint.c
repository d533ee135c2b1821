/* What a campaign leaves on the disk: it is read back as it was, and nothing else is taken for it.
 */
#include "campaign/engine/checkpoint.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PART_COUNT = 2, PATH_BYTES = SCRATCH_PATH_BYTES + 32, MESSAGE_BYTES = 512 };
#define DAMAGED "the file is damaged"

static char directory[SCRATCH_PATH_BYTES];
static struct campaign_description description;
static struct checkpoint checkpoint;

static const char *path_of(const char *name)
{
    static char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void make_campaign(void)
{
    struct finding finding = {.part = 1, .count = 3};
    scratch_name(directory, "checkpoint");
    ck_assert_ptr_nonnull(mkdtemp(directory));
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
    return checkpoint_stage(&checkpoint, &description, directory) && checkpoint_commit(directory);
}

static void save_campaign(void)
{
    ck_assert(campaign_description_save(&description, directory));
    ck_assert(save_checkpoint());
}

static void end_campaign(void)
{
    campaign_description_deinit(&description);
    checkpoint_deinit(&checkpoint);
    checkpoint_forget(directory);
    ck_assert_int_eq(rmdir(directory), 0); /* nothing else was left there */
}

/* message NULL: it is read. */
static void check_load(const char *name, const char *message)
{
    struct campaign_description read;
    struct checkpoint at;
    char text[MESSAGE_BYTES], wanted[MESSAGE_BYTES] = "";
    const int before = messages_begin();
    const enum exit_code code = checkpoint_load(directory, &read, &at);
    messages_end(before, text, sizeof text);
    if (message != NULL) {
        (void)snprintf(wanted, sizeof wanted, "hbmstress: %s: %s\n", path_of(name), message);
    }
    ck_assert_str_eq(text, wanted);
    ck_assert_int_eq(code, message == NULL ? EXIT_KEPT : EXIT_USAGE);
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
}

TEST(a_campaign_is_read_back_as_it_was)
{
    struct campaign_description read;
    struct checkpoint at;
    make_campaign();
    save_campaign();
    ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
    ck_assert_int_eq(memcmp(&read.head, &description.head, sizeof read.head), 0);
    ck_assert_str_eq(read.parts[1].name, "the second");
    ck_assert_uint_eq(read.arguments.length, 9);
    ck_assert_int_eq(memcmp(read.arguments.bytes, "--seed\0007", 9), 0);
    ck_assert_int_eq(memcmp(&at.state, &checkpoint.state, sizeof at.state), 0);
    ck_assert_uint_eq(at.parts[1].trials, 5);
    ck_assert_uint_eq(at.findings.count, 1);
    ck_assert_str_eq(at.findings.findings[0].signature, "counters: x");
    ck_assert_uint_eq(at.findings.findings[0].count, 3);
    ck_assert_str_eq(at.saved_files.bytes, "repros/a.ops");
    campaign_description_deinit(&read);
    checkpoint_deinit(&at);
    /* Without arguments, findings and files, too. */
    writing_clear(&description.arguments);
    description.head.argument_count = 0;
    writing_clear(&checkpoint.saved_files);
    findings_deinit(&checkpoint.findings);
    save_campaign();
    check_load("", NULL);
    end_campaign();
}

TEST(what_is_forgotten_is_gone)
{
    make_campaign();
    save_campaign();
    ck_assert_int_eq(access(path_of("campaign"), F_OK), 0);
    ck_assert_int_eq(access(path_of("checkpoint"), F_OK), 0);
    checkpoint_forget(directory);
    ck_assert_int_ne(access(path_of("campaign"), F_OK), 0);
    ck_assert_int_ne(access(path_of("checkpoint"), F_OK), 0);
    end_campaign();
}

TEST(a_file_that_cannot_be_written_is_told)
{
    make_campaign();
    ck_assert_int_eq(rmdir(directory), 0);
    ck_assert(!campaign_description_save(&description, directory));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!save_checkpoint());
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(mkdir(directory, 0700), 0);
    end_campaign();
}

/* Each byte of the head counts, the file's length, and the bytes behind. */
TEST(a_changed_file_is_refused)
{
    static const struct {
        long at; /* the byte that is changed; -1: the last one is cut, -2: one is appended */
        const char *message;
    } rows[] = {
        {0, "no campaign wrote this file"},
        {14, "no campaign wrote this file"},
        {15, "another build of hbmstress wrote it; use that build"},
        {16, "another build of hbmstress wrote it; use that build"},
        {24, DAMAGED},
        {32, DAMAGED},
        {40, DAMAGED},
        {-1, DAMAGED},
        {-2, DAMAGED},
    };
    static const char *const names[] = {"campaign", "checkpoint"};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const long at = rows[i / 2].at;
        make_campaign();
        save_campaign();
        FILE *stream = fopen(path_of(names[i % 2]), "r+e");
        ck_assert_ptr_nonnull(stream);
        ck_assert_int_eq(fseek(stream, at < 0 ? 0 : at, at < 0 ? SEEK_END : SEEK_SET), 0);
        const int byte = fgetc(stream);
        ck_assert_int_eq(fseek(stream, at < 0 ? 0 : at, at < 0 ? SEEK_END : SEEK_SET), 0);
        const long length = ftell(stream);
        if (at == -1) {
            ck_assert_int_eq(ftruncate(fileno(stream), length - 1), 0);
        } else {
            ck_assert_int_ne(fputc(byte ^ 1, stream), EOF);
        }
        ck_assert_int_eq(fclose(stream), 0);
        check_load(names[i % 2], rows[i / 2].message);
        end_campaign();
    }
}

TEST(a_file_that_is_not_there_or_too_short_is_refused)
{
    make_campaign();
    check_load("campaign", "there is no campaign to resume");
    ck_assert(campaign_description_save(&description, directory));
    check_load("checkpoint", "there is no campaign to resume");
    save_campaign();
    ck_assert_int_eq(truncate(path_of("campaign"), 39), 0);
    check_load("campaign", "no campaign wrote this file");
    ck_assert_int_eq(truncate(path_of("campaign"), 40), 0);
    check_load("campaign", DAMAGED);
    end_campaign();
}

/* Files whose sums are right, and whose lengths are not. */
TEST(counts_that_cannot_be_are_refused)
{
    for (unsigned i = 0; i < 4; i++) {
        make_campaign();
        struct campaign_head *head = &description.head;
        head->part_count = i == 0 ? 0 : PART_COUNT;
        head->argument_count = i == 1 ? 3 : i == 2 ? 1 : 2;
        if (i == 3) {
            writing_append_bytes(&description.arguments, "x", 1);
        }
        save_campaign();
        check_load("campaign", DAMAGED);
        end_campaign();
    }
    for (unsigned i = 0; i < 2; i++) {
        make_campaign();
        if (i == 0) {
            writing_append_bytes(&checkpoint.saved_files, "x", 1);
        }
        save_campaign();
        if (i == 1) { /* both are whole, and each is of another campaign */
            description.head.plan_digest++;
            ck_assert(campaign_description_save(&description, directory));
        }
        check_load("checkpoint", "the file is damaged, or belongs to another campaign");
        end_campaign();
    }
}

/* --- each field, damaged --- */

enum damage {
    NO_END, /* a text without its NUL */
    ESCAPE, /* a control character in a name */
    FULL,   /* all bits of the number are set */
};
struct damaged {
    const char *field; /* that the message names */
    void *at;
    size_t bytes;
    enum damage damage;
};

static void damage_field(const struct damaged *row)
{
    memset(row->at, row->damage == FULL ? 0xff : 'x', row->bytes);
    if (row->damage == ESCAPE) {
        memcpy(row->at, "a\033[2Jb", sizeof "a\033[2Jb");
    }
}

static void check_damage(const char *file, const struct damaged *row)
{
    char message[MESSAGE_BYTES];
    (void)snprintf(message, sizeof message, DAMAGED ": its %s cannot be", row->field);
    damage_field(row);
    save_campaign();
    check_load(file, message);
    end_campaign();
}

#define WHOLE(member) (void *)&(member), sizeof(member)

TEST(a_damaged_field_of_the_campaign_is_refused)
{
    for (size_t i = 0;; i++) {
        make_campaign();
        struct campaign_head *head = &description.head;
        struct campaign_part *part = &description.parts[1];
        struct setup *setup = &part->setup;
        const struct damaged rows[] = {
            {"shard_index", WHOLE(head->shard_index), FULL},
            {"shard_count", WHOLE(head->shard_count), FULL},
            {"has_canary", WHOLE(head->has_canary), FULL},
            {"requires_probes", WHOLE(head->requires_probes), FULL},
            {"allowance.has_unknown_rate", WHOLE(head->allowance.has_unknown_rate), FULL},
            {"allowance.unknown_rates", WHOLE(head->allowance.unknown_rates[1].part), FULL},
            {"seed_source", WHOLE(head->seed_source), NO_END},
            {"seed_source", WHOLE(head->seed_source), ESCAPE},
            {"host_count", WHOLE(head->setup.host_count), FULL},
            {"target", WHOLE(head->setup.target), NO_END},
            {"name", WHOLE(part->name), NO_END},
            {"name", WHOLE(part->name), ESCAPE},
            {"note", WHOLE(part->note), NO_END},
            {"job", WHOLE(part->job), NO_END},
            {"job_line", WHOLE(part->job_line), FULL},
            {"faults", WHOLE(part->faults), NO_END},
            {"faults", WHOLE(part->faults), ESCAPE},
            {"lanes.lane_count", WHOLE(part->lanes.lane_count), FULL},
            {"lanes.checks_races", WHOLE(part->lanes.checks_races), FULL},
            {"lanes.strategy", WHOLE(part->lanes.strategy), NO_END},
            {"lanes.backend", WHOLE(part->lanes.backend), NO_END},
            {"chip", WHOLE(setup->chip), NO_END},
            {"chip", WHOLE(setup->chip), ESCAPE},
            {"capacity_bytes", WHOLE(setup->capacity_bytes), FULL},
            {"granule_bytes", WHOLE(setup->granule_bytes), FULL},
            {"host_count", WHOLE(setup->host_count), FULL},
            {"target", WHOLE(setup->target), ESCAPE},
            {"option_count", WHOLE(setup->option_count), FULL},
            {"key", WHOLE(setup->options[15].key), NO_END},
            {"value", WHOLE(setup->options[0].value), ESCAPE},
            {"scenario", WHOLE(setup->scenario), NO_END},
            {"has_regret_max", WHOLE(setup->has_regret_max), FULL},
            {"has_rounding", WHOLE(setup->has_rounding), FULL},
            {"rounding.kind", WHOLE(setup->rounding.kind), FULL},
            {"rounding.steps", WHOLE(setup->rounding.steps), FULL},
            {"rounding.smallest_bytes", WHOLE(setup->rounding.smallest_bytes), FULL},
            {"rounding.overhead_bytes", WHOLE(setup->rounding.overhead_bytes), FULL},
            {"checks_races", WHOLE(setup->checks_races), FULL},
            {"has_tags", WHOLE(setup->has_tags), FULL},
            {"tags", WHOLE(setup->tags[255]), NO_END},
            {"tags", WHOLE(setup->tags[7]), ESCAPE},
            {"weights", WHOLE(setup->weights[3]), FULL},
        };
        if (i == sizeof rows / sizeof *rows) {
            save_campaign();
            end_campaign();
            break;
        }
        check_damage("campaign", &rows[i]);
    }
}

TEST(a_damaged_field_of_the_state_is_refused)
{
    for (size_t i = 0;; i++) {
        make_campaign();
        struct campaign_state *state = &checkpoint.state;
        struct part_state *part = &checkpoint.parts[1];
        const struct damaged rows[] = {
            {"end.trials", WHOLE(state->end.trials), FULL},
            {"end.elapsed_ns", WHOLE(state->end.elapsed_ns), FULL},
            {"end.verdicts_omitted", WHOLE(state->end.verdicts_omitted), FULL},
            {"end.trials_omitted", WHOLE(state->end.trials_omitted), FULL},
            {"end.certificates_checked", WHOLE(state->end.certificates_checked), FULL},
            {"end.known_count", WHOLE(state->end.known_count), FULL},
            {"end.allowed.has_unknown_rate", WHOLE(state->end.allowed.has_unknown_rate), FULL},
            {"end.is_interrupted", WHOLE(state->end.is_interrupted), FULL},
            {"end.has_baseline", WHOLE(state->end.has_baseline), FULL},
            {"totals", WHOLE(state->end.totals.ooms), FULL},
            {"totals", WHOLE(state->end.totals.probes[5]), FULL},
            {"mark.round", WHOLE(state->mark.round), FULL},
            {"mark.part", WHOLE(state->mark.part), FULL},
            {"mark.taken", WHOLE(state->mark.taken), FULL},
            {"results_bytes", WHOLE(state->results_bytes), FULL},
            {"certificate_count", WHOLE(state->certificate_count), FULL},
            {"canary_trials", WHOLE(state->canary_trials), FULL},
            {"is_canary_reported", WHOLE(state->is_canary_reported), FULL},
            {"is_disputed", WHOLE(state->is_disputed), FULL},
            {"is_finished", WHOLE(state->is_finished), FULL},
            {"progress.taken", WHOLE(part->progress.taken), FULL},
            {"progress.op_count", WHOLE(part->progress.op_count), FULL},
            {"progress.elapsed_ns", WHOLE(part->progress.elapsed_ns), FULL},
            {"progress.is_finished", WHOLE(part->progress.is_finished), FULL},
            {"totals", WHOLE(part->totals.unknown), FULL},
            {"trials", WHOLE(part->trials), FULL},
            {"elapsed_ns", WHOLE(part->elapsed_ns), FULL},
            {"findings_only_counted", WHOLE(part->findings_only_counted), FULL},
            {"unknown_saved", WHOLE(part->unknown_saved), FULL},
            {"justified_saved", WHOLE(part->justified_saved), FULL},
            {"look_count", WHOLE(part->look_count), FULL},
            {"growing_count", WHOLE(part->growing_count), FULL},
            {"growth.first_bytes", WHOLE(part->growth.first_bytes), FULL},
            {"growth.last_bytes", WHOLE(part->growth.last_bytes), FULL},
            {"growing_tag", WHOLE(part->growing_tag), NO_END},
            {"growing_tag", WHOLE(part->growing_tag), ESCAPE},
            {"note", WHOLE(part->note), NO_END},
            {"memory.point_count", WHOLE(part->memory.point_count), FULL},
            {"memory.added_count", WHOLE(part->memory.added_count), FULL},
            {"memory.stride", WHOLE(part->memory.stride), FULL},
            {"memory.open_count", WHOLE(part->memory.open_count), FULL},
            {"memory", WHOLE(part->memory.last.op_count), FULL},
            {"memory", WHOLE(part->memory.last.used_bytes), FULL},
            {"memory", WHOLE(part->memory.peak.capacity_bytes), FULL},
            {"memory", WHOLE(part->memory.fullest.capacity_bytes), FULL},
            {"memory", WHOLE(part->memory.points[1].op_count), FULL},
            {"memory", WHOLE(checkpoint.parts[0].memory.points[63]), FULL},
        };
        if (i == sizeof rows / sizeof *rows) {
            save_campaign();
            end_campaign();
            break;
        }
        check_damage("checkpoint", &rows[i]);
    }
}

TEST(a_damaged_finding_is_refused)
{
    for (size_t i = 0;; i++) {
        make_campaign();
        struct finding *finding = &checkpoint.findings.findings[0];
        const struct damaged rows[] = {
            {"signature", WHOLE(finding->signature), NO_END},
            {"rule", WHOLE(finding->rule), NO_END},
            {"rule", WHOLE(finding->rule), ESCAPE},
            {"reason", WHOLE(finding->reason), NO_END},
            {"message", WHOLE(finding->message), NO_END},
            {"base", WHOLE(finding->base), NO_END},
            {"base", WHOLE(finding->base), ESCAPE},
            {"part", WHOLE(finding->part), FULL},
            {"trial", WHOLE(finding->trial), FULL},
            {"count", WHOLE(finding->count), FULL},
            {"moved_count", WHOLE(finding->moved_count), FULL},
            {"first_order", WHOLE(finding->first_order), FULL},
            {"seen_count", WHOLE(finding->seen_count), FULL},
            {"stayed_count", WHOLE(finding->stayed_count), FULL},
            {"unrepeated_count", WHOLE(finding->unrepeated_count), FULL},
            {"counted_verdicts", WHOLE(finding->counted_verdicts), FULL},
            {"before_count", WHOLE(finding->before_count), FULL},
            {"is_unrepeated", WHOLE(finding->is_unrepeated), FULL},
            {"moved_to", WHOLE(finding->moved_to), NO_END},
            {"op_count", WHOLE(finding->op_count), FULL},
            {"has_certificate", WHOLE(finding->has_certificate), FULL},
            {"is_known", WHOLE(finding->is_known), FULL},
            {"has_largest", WHOLE(finding->has_largest), FULL},
            {"largest.is_exact", WHOLE(finding->largest.is_exact), FULL},
        };
        if (i == sizeof rows / sizeof *rows) {
            save_campaign();
            end_campaign();
            break;
        }
        check_damage("checkpoint", &rows[i]);
    }
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

TEST(a_damaged_entry_of_the_queue_is_refused)
{
    for (size_t i = 0;; i++) {
        make_campaign();
        struct shrink_entry *entry = add_entry();
        const struct damaged rows[] = {
            {"task.is_sampled", WHOLE(entry->task.is_sampled), FULL},
            {"task.is_kept", WHOLE(entry->task.is_kept), FULL},
            {"task.is_diagnosed", WHOLE(entry->task.is_diagnosed), FULL},
            {"task.is_compared", WHOLE(entry->task.is_compared), FULL},
            {"task.has_list_kept", WHOLE(entry->task.has_list_kept), FULL},
            {"task.trial", WHOLE(entry->task.trial), FULL},
            {"task.part", WHOLE(entry->task.part), FULL},
            {"finding", WHOLE(entry->finding), FULL},
            {"order", WHOLE(entry->order), FULL},
            {"number", WHOLE(entry->number), FULL},
            {"state", WHOLE(entry->state), FULL},
            {"is_superseded", WHOLE(entry->is_superseded), FULL},
            {"seen_as", WHOLE(entry->seen_as), NO_END},
            {"base", WHOLE(entry->base), NO_END},
            {"base", WHOLE(entry->base), ESCAPE},
            {"signature", WHOLE(entry->signature), NO_END},
            {"signature", WHOLE(entry->signature), ESCAPE}, /* no finding has that one */
            {"verdict.kind", WHOLE(entry->verdict.kind), FULL},
            {"verdict.rule", WHOLE(entry->verdict.rule), FULL},
            {"verdict.mechanism", WHOLE(entry->verdict.mechanism), NO_END},
            {"verdict.reason", WHOLE(entry->verdict.reason), NO_END},
            {"message", WHOLE(entry->message), NO_END},
            {"has_largest", WHOLE(entry->has_largest), FULL},
            {"largest.is_exact", WHOLE(entry->largest.is_exact), FULL},
            {"op_count", WHOLE(entry->op_count), FULL},
            {"lane_count", WHOLE(entry->lane_count), FULL},
            {"switch_count", WHOLE(entry->switch_count), FULL},
            {"has_certificate", WHOLE(entry->has_certificate), FULL},
            {"before_count", WHOLE(entry->before_count), FULL},
            {"is_unrepeated", WHOLE(entry->is_unrepeated), FULL},
        };
        if (i == sizeof rows / sizeof *rows) {
            save_campaign();
            struct campaign_description read;
            struct checkpoint at;
            ck_assert_int_eq(checkpoint_load(directory, &read, &at), EXIT_KEPT);
            ck_assert_uint_eq(at.queue.count, 1);
            ck_assert_str_eq(at.queue.entries[0].base, "counters-part-7");
            checkpoint_deinit(&at);
            campaign_description_deinit(&read);
            end_campaign();
            break;
        }
        check_damage("checkpoint", &rows[i]);
    }
}

/* Where verdicts moved to must be a finding, too; and there are no more of them than were seen. */
TEST(findings_that_point_nowhere_are_refused)
{
    static const char *const fields[] = {"moved_to", "moved_to", "count", "count", "verdict"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char message[MESSAGE_BYTES];
        make_campaign();
        struct finding *finding = &checkpoint.findings.findings[0];
        struct shrink_entry *entry = add_entry();
        finding->seen_count = finding->count;
        finding->moved_count = i < 2;
        strcpy(finding->moved_to, i == 1 ? "counters: nowhere" : "");
        finding->unrepeated_count = i == 2 ? finding->count + 1 : 0;
        finding->stayed_count = i == 3 ? finding->count + 1 : 0;
        entry->verdict.kind = i == 4 ? VERDICT_JUSTIFIED : VERDICT_BROKEN;
        (void)snprintf(message, sizeof message, DAMAGED ": its %s cannot be", fields[i]);
        save_campaign();
        check_load("checkpoint", message);
        end_campaign();
    }
}

/* Numbers that are in their range, and belong to no campaign. */
TEST(fields_that_contradict_each_other_are_refused)
{
    static const char *const fields[] = {"shard_index", "has_canary",    "host_count",
                                         "shard_index", "growing_count", "growth.first_bytes",
                                         "memory",      "memory",        "memory",
                                         "memory",      "memory",        "memory",
                                         "mark.taken",  "mark.part",     "part",
                                         "count",       "count",         "signature",
                                         "signature",   "part"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        make_campaign();
        struct campaign_head *head = &description.head;
        struct part_state *part = &checkpoint.parts[1];
        struct memory_track *memory = &part->memory;
        struct finding *finding = &checkpoint.findings.findings[0];
        switch (i) {
        case 0:
            head->shard_index = head->shard_count;
            break;
        case 1:
            head->part_count = head->has_canary = 1;
            break;
        case 2:
            head->setup.host_count = 0;
            break;
        case 3:
            head->shard_count = head->shard_index = 0;
            break;
        case 4:
            part->growing_count = part->look_count + 1;
            break;
        case 5:
            part->growth.first_bytes = 1;
            break;
        case 6:
            memory->last.capacity_bytes = 0;
            break;
        case 7:
            memory->peak.capacity_bytes = 0;
            break;
        case 8:
            memory->points[2].op_count = memory->points[1].op_count;
            break;
        case 9:
            memory->point_count = 0;
            break;
        case 10:
            memory->stride = 0;
            break;
        case 11:
            part->totals.ops = memory->last.op_count - 1;
            break;
        case 12:
            checkpoint.state.mark.taken--;
            break;
        case 13:
            checkpoint.state.mark.part = PART_COUNT;
            break;
        case 14:
            finding->part = PART_COUNT;
            break;
        case 15:
            finding->count = 0;
            break;
        case 16:
            finding->moved_count = finding->count + 1;
            break;
        case 17:
            finding->signature[0] = '\0';
            break;
        case 18: {
            struct finding twin = *finding;
            strcpy(twin.signature, "another");
            struct finding *added = findings_add(&checkpoint.findings, &twin);
            strcpy(added->signature, "counters: x");
            break;
        }
        default:
            head->has_canary = 1; /* which has no findings */
        }
        const bool is_description = i < 4;
        char message[MESSAGE_BYTES];
        (void)snprintf(message, sizeof message, DAMAGED ": its %s cannot be", fields[i]);
        save_campaign();
        check_load(is_description ? "campaign" : "checkpoint", message);
        end_campaign();
    }
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
        save_campaign();
        check_load("checkpoint", DAMAGED ": its saved_files cannot be");
        end_campaign();
    }
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        make_campaign();
        strcpy(checkpoint.findings.findings[0].base, bases[i]);
        save_campaign();
        check_load("checkpoint", DAMAGED ": its base cannot be");
        end_campaign();
    }
}

/* A link is not followed below the folder, nothing waits for a pipe, and the folder's own name may
 * be a link. */
TEST(links_and_pipes_are_refused)
{
    static const char *const names[] = {"campaign", "checkpoint"};
    char link[PATH_BYTES], kept[PATH_BYTES];
    for (size_t i = 0; i < 2; i++) {
        make_campaign();
        save_campaign();
        (void)snprintf(kept, sizeof kept, "%s/elsewhere", directory);
        ck_assert_int_eq(rename(path_of(names[i]), kept), 0);
        ck_assert_int_eq(symlink("elsewhere", path_of(names[i])), 0);
        check_load(names[i], "it is a link, and none is followed there");
        ck_assert_int_eq(unlink(path_of(names[i])), 0);
        ck_assert_int_eq(mkfifo(path_of(names[i]), 0600), 0);
        check_load(names[i], "it is no regular file");
        ck_assert_int_eq(unlink(path_of(names[i])), 0);
        ck_assert_int_eq(mkdir(path_of(names[i]), 0700), 0);
        check_load(names[i], "it is no regular file");
        ck_assert_int_eq(rmdir(path_of(names[i])), 0);
        ck_assert_int_eq(rename(kept, path_of(names[i])), 0);
        (void)snprintf(link, sizeof link, "%s.link", directory);
        ck_assert_int_eq(symlink(directory, link), 0);
        struct campaign_description read;
        struct checkpoint at;
        ck_assert_int_eq(checkpoint_load(link, &read, &at), EXIT_KEPT);
        campaign_description_deinit(&read);
        checkpoint_deinit(&at);
        ck_assert_int_eq(unlink(link), 0);
        end_campaign();
    }
}
