/* The runs of two files, before and after a change, each in a child process. */
#include "campaign/base/interrupt.h"
#include "campaign/engine/output.h"
#include "campaign/process/child.h"
#include "explain/private/explanation.h"
#include "explain/private/files.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"
#include "harness/trial/trial_run.h"
#include "recording/occupancy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- in the child --- */

struct listening {
    struct compare_side *side;
    struct survey survey;
    uint64_t turn;
    bool is_second;
};

static size_t find_part(const struct listening *listening, uint32_t op)
{
    const struct step_axis *steps = &listening->side->steps;
    if (steps->count == 0) {
        return (size_t)((__uint128_t)listening->turn * COMPARE_PART_COUNT /
                        listening->survey.turn_count);
    }
    const size_t place = step_axis_place(steps, op);
    return place == steps->count ? 0 : place;
}

static void add_blocks(struct compare_answer *answer, const struct model *model)
{
    struct occupancy occupancy;
    for (size_t i = 0; i < model_live_count(model); i++) {
        const struct block *block = model_live(model, i);
        answer->tags[block->tag].bytes += block->size_bytes;
        answer->tags[block->tag].blocks++;
    }
    for (size_t i = 0; i < model_program_count(model); i++) {
        const struct block *program = model_program(model, i);
        const bool is_there = program->state != BLOCK_GONE;
        answer->tags[program->tag].bytes += is_there ? program->size_bytes : 0;
        answer->tags[program->tag].blocks += is_there;
    }
    occupancy_take(model, &occupancy);
    answer->others[COMPARE_DYING] = (struct compare_sum){occupancy.dying.bytes,
                                                         occupancy.dying.count};
    answer->others[COMPARE_RETIRED] = (struct compare_sum){occupancy.retired.bytes,
                                                           occupancy.retired.count};
    answer->others[COMPARE_STACK] = (struct compare_sum){occupancy.reserved_bytes,
                                                         occupancy.reserved_bytes > 0};
}

static void hear_second(struct listening *listening, const struct run *run, uint32_t op)
{
    struct compare_side *side = listening->side;
    struct compare_answer *answer = &side->answer;
    const uint64_t bytes = survey_in_use(&listening->survey, run, answer->host);
    uint64_t *part = &side->parts[find_part(listening, op)];
    *part = bytes > *part ? bytes : *part;
    if (listening->survey.peaks[answer->host].turn == listening->turn) {
        answer->peak_op = op;
        answer->peak_bytes = bytes;
        answer->capacity_bytes = model_capacity_bytes(run_model(run, answer->host));
        add_blocks(answer, run_model(run, answer->host));
    }
}

static void hear(void *context, const struct run *run, const struct verdict *verdict)
{
    struct listening *listening = context;
    struct compare_answer *answer = &listening->side->answer;
    const uint32_t op = run_observation(run)->op;
    if (op >= run_ops(run)->count || listening->turn >= listening->survey.turn_count) {
        return;
    }
    if (!listening->is_second) {
        survey_hear(&listening->survey, run);
    } else if (run_ops(run)->ops[op].host == answer->host) {
        hear_second(listening, run, op);
        if (verdict->kind != VERDICT_NONE && verdict->kind != VERDICT_BROKEN &&
            answer->oom_count++ == 0) {
            answer->first_oom_op = op;
        }
    }
    listening->turn++;
}

static bool run_side(struct listening *listening)
{
    const struct recording *recording = &listening->side->recording;
    const struct run_listener listener = {listening, hear};
    struct trial trial;
    char reason[RUN_REASON_BYTES];
    listening->turn = 0;
    if (!trial_repeat(recording->target, &recording->setup, &recording->ops, &listener, &trial,
                      reason)) {
        return false;
    }
    trial_deinit(&trial);
    return true;
}

static void run_and_answer(void *context, int file)
{
    struct compare_side *side = context;
    struct listening *listening = calloc(1, sizeof *listening);
    struct compare_answer *answer = &side->answer;
    CHECK(listening != NULL);
    listening->side = side;
    answer->op_count = side->recording.ops.count - lanes_switch_count(&side->recording.ops);
    survey_init(&listening->survey, &side->steps, &side->recording.setup, answer->op_count);
    bool is_run = run_side(listening);
    answer->host = survey_fullest_host(&listening->survey);
    listening->is_second = true;
    is_run = is_run && run_side(listening);
    answer->is_whole = is_run;
    (void)(file_write_all(file, answer, sizeof *answer) &&
           file_write_all(file, side->parts, (size_t)answer->part_count * sizeof *side->parts));
    free(listening);
}

/* --- reading and running --- */

static enum exit_code read_side(struct compare_side *side, const struct explain_options *options)
{
    const enum exit_code code = recording_read(side->path, options->reading, true,
                                               &side->recording);
    if (code != EXIT_KEPT) {
        return code;
    }
    step_axis_init(&side->steps, side->recording.said, side->recording.said_count,
                   &side->recording.ops, side->recording.setup.granule_bytes);
    side->answer.part_count = side->steps.count > 0 ? side->steps.count : COMPARE_PART_COUNT;
    side->parts = calloc((size_t)side->answer.part_count, sizeof *side->parts);
    CHECK(side->parts != NULL);
    return EXIT_KEPT;
}

static enum exit_code fail_side(const struct compare_side *side, enum child_end end,
                                const char *death)
{
    if (end == CHILD_NOT_BORN) {
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    if (end == CHILD_STOPPED && interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted: nothing was compared");
    }
    if (end == CHILD_FAULTY) {
        return message_fail(EXIT_HARNESS, "%s: internal error: %s", side->path, death);
    }
    return message_fail(EXIT_BROKEN, "%s: the list did not run to its end: %s", side->path,
                        end == CHILD_DIED ? death : "--trial-timeout or --op-timeout");
}

static enum exit_code ask_side(struct compare_side *side, const struct explain_options *options)
{
    struct writing answer = {0};
    char death[CHILD_DEATH_BYTES];
    const size_t part_bytes = (size_t)side->answer.part_count * sizeof *side->parts;
    death_set_op_timeout(options->reading.run->op_timeout_ns);
    const enum child_end end = child_run(
        run_and_answer, side, options->reading.run->trial_timeout_ns, true, &answer, death);
    enum exit_code code = EXIT_KEPT;
    if (end != CHILD_DONE) {
        code = fail_side(side, end, death);
    } else if (answer.length != sizeof side->answer + part_bytes) {
        code = message_fail(EXIT_HARNESS, "%s: the run left no answer", side->path);
    } else {
        const uint64_t part_count = side->answer.part_count;
        memcpy(&side->answer, answer.bytes, sizeof side->answer);
        side->answer.part_count = part_count;
        memcpy(side->parts, answer.bytes + sizeof side->answer, part_bytes);
        code = side->answer.is_whole == 1
                   ? EXIT_KEPT
                   : message_fail(EXIT_HARNESS, "%s: the target now refuses the setup", side->path);
    }
    writing_deinit(&answer);
    return code;
}

/* --- the whole --- */

static enum exit_code check_options(const struct explain_options *options)
{
    const char *given = options->has_what_if     ? "--what-if"
                        : options->has_timeline  ? "--timeline"
                        : options->alarm_percent ? "--alarm"
                        : options->svg != NULL   ? "--svg"
                                                 : NULL;
    return given == NULL
               ? EXIT_KEPT
               : message_fail(EXIT_USAGE, "%s applies to one FILE; with two, explain compares them",
                              given);
}

/* Runs both, and fills the facts. */
static enum exit_code compare_files(const struct explain_options *options,
                                    const char *const paths[2], struct facts *facts)
{
    struct compare_side *sides = calloc(2, sizeof *sides);
    CHECK(sides != NULL);
    enum exit_code code = EXIT_KEPT;
    for (int i = 0; i < 2 && code == EXIT_KEPT; i++) {
        sides[i].path = paths[i];
        code = read_side(&sides[i], options);
    }
    for (int i = 0; i < 2 && code == EXIT_KEPT; i++) {
        code = ask_side(&sides[i], options);
    }
    if (code == EXIT_KEPT) {
        compare_describe(facts, sides);
    }
    for (int i = 0; i < 2; i++) {
        step_axis_deinit(&sides[i].steps);
        recording_deinit(&sides[i].recording);
        free(sides[i].parts);
    }
    free(sides);
    return code;
}

enum exit_code explain_compare_text(const struct explain_options *options,
                                    const char *const paths[2], struct writing *text)
{
    struct facts facts = {0};
    const enum exit_code code = compare_files(options, paths, &facts);
    facts_print(&facts, FACTS_WORDS, text);
    facts_deinit(&facts);
    return code;
}

enum exit_code explain_compare(const struct explain_options *options)
{
    struct facts facts = {0};
    enum exit_code code = check_options(options);
    if (code == EXIT_KEPT) {
        code = compare_files(options, options->paths, &facts);
    }
    if (code == EXIT_KEPT) {
        code = explain_print(options, &facts, code);
    }
    facts_deinit(&facts);
    return code;
}
