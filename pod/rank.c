#include "pod/member.h"

#include "campaign/base/file.h"
#include "campaign/process/child.h"
#include "campaign/process/guest.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/base/writing.h"
#include "harness/op/ops_file.h"
#include "harness/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A day: longer pauses are cut. */
#define REAL_NS_MAX 86400e9
/* This many answers fit into the pipe of a rank that reads nothing. */
enum { JOINED_COUNT_MAX = 64 };

/* A collective that it joined and did not hear of since. */
struct joined {
    uint32_t number; /* of the op in the run */
    uint16_t group;
    uint32_t which; /* of this group */
    uint64_t delay_ns;
};

struct rank_run {
    const struct rank_plan *plan;
    struct setup setup; /* of its run: one host, the rank's own */
    struct run *run;
    int tasks, answers, file;
    unsigned step_tag;
    uint32_t step;           /* executions of it so far */
    uint32_t op;             /* of the list: under way */
    uint32_t *numbers;       /* by op of the list: its number in the run; OP_NONE: not there */
    uint32_t *joined_counts; /* by group */
    uint32_t *asked_counts;  /* the same, of requests of all hosts of the group */
    struct target_contract promised; /* what host 0 of the job promises: spmd */
    struct joined *joined;           /* joined_count of them */
    size_t joined_count, joined_capacity;
};

bool rank_path(const char *directory, uint32_t rank, char *path)
{
    const int length = snprintf(path, FILE_PATH_BYTES, "%s/rank-%" PRIu32 ".ops", directory, rank);
    return length > 0 && length < FILE_PATH_BYTES;
}

uint64_t rank_list_hash(const struct recording *recording)
{
    char hash[OPS_HASH_BYTES];
    ops_hash(&recording->setup, &recording->ops, recording->ops.count, hash);
    return hash_string(HASH_START, hash);
}

/* --- what it says and hears --- */

/* The process ends, and that is no death. */
static _Noreturn void leave(const struct rank_run *rank)
{
    rank->plan->death->is_done = 1;
    _exit(0);
}

/* Sends a frame, or leaves: without a keeper nobody reads it. */
static void say(const struct rank_run *rank, const struct pod_frame *frame)
{
    if (!frame_send(rank->answers, frame)) {
        leave(rank);
    }
}

/* Sends a frame of its op with these numbers. */
static void say_numbers(const struct rank_run *rank, enum frame_kind kind, uint64_t first,
                        uint64_t second, uint64_t third)
{
    struct pod_frame frame = frame_make(kind, rank->plan->rank, rank->op);
    frame.numbers[0] = first;
    frame.numbers[1] = second;
    frame.numbers[2] = third;
    say(rank, &frame);
}

static _Noreturn void fail(const struct rank_run *rank, const char *why)
{
    struct pod_frame frame = frame_make(FRAME_FAILED, rank->plan->rank, rank->op);
    frame_set_text(&frame, why);
    say(rank, &frame);
    leave(rank);
}

/* Waits for the keeper.  It says nothing more when the pod is over. */
static struct pod_frame hear(const struct rank_run *rank)
{
    struct frame_inbox inbox = {0};
    struct pod_frame frame;
    for (;;) {
        const enum frame_sound sound = frame_hear(rank->tasks, &inbox, &frame);
        if (sound == FRAME_HEARD) {
            return frame;
        }
        if (sound != FRAME_NOTHING) {
            leave(rank);
        }
    }
}

/* --- collectives --- */

static bool is_collective(const struct op *op)
{
    return op->kind == OP_EXECUTE && (op->flags & OP_COLLECTIVE) != 0;
}

static void take_answer(struct rank_run *rank, const struct pod_frame *frame)
{
    for (size_t i = 0; i < rank->joined_count; i++) {
        const struct joined *joined = &rank->joined[i];
        if (joined->group != frame->numbers[0] || joined->which != frame->numbers[1]) {
            continue;
        }
        if (frame->kind == FRAME_GO) {
            run_set_due(rank->run, 0, joined->number,
                        delay_after_ns(frame->numbers[2], joined->delay_ns));
        }
        rank->joined[i] = rank->joined[--rank->joined_count];
        return;
    }
}

/* Waits until the keeper said of each collective that all came, or that they will not. */
static void await_all(struct rank_run *rank)
{
    if (rank->joined_count == 0) {
        return;
    }
    say_numbers(rank, FRAME_WAIT, 0, 0, 0);
    while (rank->joined_count > 0) {
        const struct pod_frame frame = hear(rank);
        if (frame.kind == FRAME_GO || frame.kind == FRAME_LOST) {
            take_answer(rank, &frame);
        }
    }
}

static void join(struct rank_run *rank, const struct op *op, uint32_t number)
{
    const uint32_t which = rank->joined_counts[op->group]++;
    rank->joined = array_grown(rank->joined, rank->joined_count, &rank->joined_capacity,
                               sizeof *rank->joined);
    rank->joined[rank->joined_count++] = (struct joined){number, op->group, which, op->delay_ns};
    say_numbers(rank, FRAME_JOIN, op->group, which, model_now_ns(run_model(rank->run, 0)));
}

/* --- one op --- */

/* Before it is called: so the file has the op that ended the process. */
static void write_op(const struct rank_run *rank, const struct op *op)
{
    char text[OP_TEXT_BYTES], line[OP_TEXT_BYTES + 16];
    const int length = snprintf(line, sizeof line, "%" PRIu32 ": %s\n", rank->op,
                                op_print(op, text));
    CHECK(length > 0 && (size_t)length < sizeof line);
    if (!file_write_all(rank->file, line, (size_t)length)) {
        fail(rank, "its file cannot be written");
    }
}

/* The number in the run of what an op names; OP_NONE: it is of another host, or not there. */
static uint32_t number_of(const struct rank_run *rank, uint32_t reference)
{
    return reference < rank->plan->recording->ops.count ? rank->numbers[reference] : OP_NONE;
}

/* Makes the op for the run of this host alone: with its own numbers, and a collective that ends at
 * the bound unless the keeper decides otherwise. */
static struct op make_own(const struct rank_run *rank, const struct op *op)
{
    struct op own = *op;
    own.host = 0;
    if ((op->flags & OP_RELATIVE) == 0) {
        own.ref = op->ref == OP_NONE ? OP_NONE : number_of(rank, op->ref);
        own.event = op->event == OP_NONE ? OP_NONE : number_of(rank, op->event);
    }
    if (is_collective(op)) {
        own.delay_ns = setup_collective_bound_ns(&rank->setup);
    }
    return own;
}

/* Such an op is skipped in lock step, whatever happens: it names what another host made.  So is a
 * retry of what another host asked for. */
static bool is_of_others(const struct rank_run *rank, const struct op *op)
{
    const struct op_list *ops = &rank->plan->recording->ops;
    const bool is_relative = (op->flags & OP_RELATIVE) != 0;
    if ((op->flags & OP_RETRY) != 0 &&
        (rank->op == 0 || number_of(rank, rank->op - 1) == OP_NONE)) {
        return true;
    }
    CHECK(rank->op < ops->count);
    return !is_relative && ((op->ref != OP_NONE && number_of(rank, op->ref) == OP_NONE) ||
                            (op->event != OP_NONE && number_of(rank, op->event) == OP_NONE));
}

static void say_oom(const struct rank_run *rank, const struct verdict *verdict)
{
    const struct verdict *hidden = run_hidden_oom(rank->run);
    const struct verdict *oom = hidden == NULL ? verdict : hidden;
    say_numbers(rank, FRAME_OOM, oom->kind, oom->requested_bytes, rank->step);
}

static void say_verdict(const struct rank_run *rank, const struct verdict *verdict)
{
    if (verdict->kind == VERDICT_PREMATURE || verdict->kind == VERDICT_BROKEN ||
        verdict->kind == VERDICT_DISPUTED) {
        struct pod_frame frame = frame_make(FRAME_FINDING, rank->plan->rank, rank->op);
        frame.numbers[0] = verdict->kind;
        frame.numbers[1] = verdict->rule;
        frame_set_text(&frame, verdict->reason);
        say(rank, &frame);
    }
}

/* Hashes an op's request: all hosts of the group must ask for the same. */
static uint64_t hash_request(const struct op *op)
{
    const uint64_t words[] = {op->kind, op->size_bytes, op->align_log2,
                              op->kind == OP_LOAD ? op->stack_bytes : 0};
    return hash_bytes(HASH_START, words, sizeof words);
}

static void say_answer(struct rank_run *rank, const struct op *op, enum target_result result)
{
    struct spmd_answer answer = {.group = op->group, .result = (uint8_t)result};
    answer.decides = run_sums_decide(rank->run, &answer.fits);
    say_numbers(rank, FRAME_ANSWER, answer_pack(&answer), rank->asked_counts[op->group]++,
                hash_request(op));
}

/* Time of the list passes in the world, too: so much of it since before_ns. */
static uint64_t find_real_ns(const struct rank_run *rank, uint64_t before_ns)
{
    const uint64_t passed_ns = model_now_ns(run_model(rank->run, 0)) - before_ns;
    const double real_ns = (double)passed_ns * rank->plan->pace;
    return real_ns < REAL_NS_MAX ? (uint64_t)real_ns : (uint64_t)REAL_NS_MAX;
}

static void pass_time(uint64_t real_ns)
{
    struct timespec left = {.tv_sec = (time_t)(real_ns / 1000000000),
                            .tv_nsec = (long)(real_ns % 1000000000)};
    if (real_ns == 0) {
        return;
    }
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        continue;
    }
}

static void take_op(struct rank_run *rank, const struct op *op)
{
    const uint64_t before_ns = model_now_ns(run_model(rank->run, 0));
    const uint32_t number = (uint32_t)run_ops(rank->run)->count;
    const struct op own = make_own(rank, op);
    write_op(rank, op);
    rank->numbers[rank->op] = number;
    const struct verdict *verdict = run_step(rank->run, &own);
    const struct observation *seen = run_observation(rank->run);
    const bool is_done = seen->skipped == 0 && seen->result == TARGET_OK;
    if (seen->result == TARGET_NO_MEMORY) {
        say_oom(rank, verdict);
    }
    say_verdict(rank, verdict);
    if ((op->flags & OP_SPMD) != 0 && seen->skipped == 0) {
        say_answer(rank, op, (enum target_result)seen->result);
    }
    if (is_done && is_collective(op)) {
        join(rank, op, number);
    } else if (seen->result == TARGET_NO_MEMORY && is_collective(op)) {
        say_numbers(rank, FRAME_MISSED, op->group, rank->step, 0);
    }
    const struct op *done = run_ops(rank->run)->ops; /* references are resolved there */
    if (is_done && op->kind == OP_EXECUTE) {
        rank->step += done[done[number].ref].tag == rank->step_tag;
    }
    const uint64_t real_ns = find_real_ns(rank, before_ns);
    say_numbers(rank, FRAME_AT, rank->step, real_ns, 0);
    pass_time(real_ns);
}

static void take_all(struct rank_run *rank)
{
    const struct op_list *ops = &rank->plan->recording->ops;
    for (uint32_t i = 0; i < ops->count && !run_is_broken(rank->run); i++) {
        rank->op = i;
        if (ops->ops[i].host != rank->plan->rank || is_of_others(rank, &ops->ops[i])) {
            continue;
        }
        if (!is_collective(&ops->ops[i]) || rank->joined_count == JOINED_COUNT_MAX) {
            await_all(rank);
        }
        take_op(rank, &ops->ops[i]);
    }
    await_all(rank);
}

/* --- from begin to end --- */

static void make_setup(struct rank_run *rank)
{
    const struct setup *all = &rank->plan->recording->setup;
    setup_init(&rank->setup);
    setup_copy(&rank->setup, all);
    setup_set_hosts(&rank->setup, 1);
    rank->setup.group_count = 0;
    rank->setup.has_clocks = true;
    rank->setup.clocks[0] = all->clocks[rank->plan->rank];
    rank->setup.coordinate[0] += rank->plan->rank;
}

static void write_head(struct rank_run *rank)
{
    char path[FILE_PATH_BYTES];
    static struct setup all;
    setup_init(&all);
    setup_copy(&all, &rank->plan->recording->setup);
    all.has_clocks = true;
    FILE *stream = rank_path(rank->plan->directory, rank->plan->rank, path) ? fopen(path, "we")
                                                                            : NULL;
    if (stream == NULL) {
        fail(rank, "its file cannot be made");
    }
    ops_file_print_head(stream, &all);
    const bool is_written = fflush(stream) == 0;
    rank->file = fileno(stream); /* the stream lives as long as the process */
    if (!is_written) {
        fail(rank, "its file cannot be written");
    }
}

static bool has_spmd(const struct op_list *ops)
{
    size_t i = 0;
    while (i < ops->count && (ops->ops[i].flags & OP_SPMD) == 0) {
        i++;
    }
    return i < ops->count;
}

/* Asks the first host of the job for its promises: they decide which answers must be alike. */
static void ask_first_host(struct rank_run *rank)
{
    static struct setup setup;
    char reason[RUN_REASON_BYTES];
    setup_init(&setup);
    setup_copy(&setup, &rank->setup);
    setup.coordinate[0] = rank->plan->recording->setup.coordinate[0];
    struct run *first = run_create(rank->plan->recording->target, &setup, reason);
    if (first == NULL) {
        fail(rank, reason);
    }
    rank->promised = *model_contract(run_model(first, 0));
    run_destroy(first);
    run_hold_to(rank->run, &rank->promised);
}

static void begin(struct rank_run *rank)
{
    const struct recording *recording = rank->plan->recording;
    char reason[RUN_REASON_BYTES];
    make_setup(rank);
    write_head(rank);
    rank->step_tag = setup_tag_named(&rank->setup, RANK_STEP_NAME);
    rank->numbers = malloc((recording->ops.count + 1) * sizeof *rank->numbers);
    rank->joined_counts = calloc(UINT16_MAX + 1, sizeof *rank->joined_counts);
    rank->asked_counts = calloc(UINT16_MAX + 1, sizeof *rank->asked_counts);
    CHECK(rank->numbers != NULL && rank->joined_counts != NULL && rank->asked_counts != NULL);
    memset(rank->numbers, 0xff, (recording->ops.count + 1) * sizeof *rank->numbers);
    rank->run = run_create(recording->target, &rank->setup, reason);
    if (rank->run == NULL) {
        fail(rank, reason);
    }
    run_go_on(rank->run);
    if (rank->plan->rank > 0 && has_spmd(&recording->ops)) {
        ask_first_host(rank);
    }
    say_numbers(rank, FRAME_HELLO, rank_list_hash(recording), recording->setup.host_count,
                (uint64_t)getpid());
    while (hear(rank).kind != FRAME_BEGIN) {
        continue;
    }
}

void rank_main(void *context, int tasks, int answers)
{
    static struct rank_run rank; /* too large for a stack */
    rank.plan = context;
    rank.tasks = tasks;
    rank.answers = answers;
    death_watch(rank.plan->death);
    begin(&rank);
    take_all(&rank);
    if (!run_is_broken(rank.run)) {
        say_verdict(&rank, run_finish(rank.run));
    }
    (void)strays_end();
    rank.plan->death->is_done = 1;
    say_numbers(&rank, FRAME_ENDED, run_ops(rank.run)->count, 0, 0);
}
