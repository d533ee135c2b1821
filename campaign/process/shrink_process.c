#include "campaign/process/shrink_process.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/base/rest.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/call/driver.h"
#include "harness/lanes/lanes.h"
#include "harness/run/run_state.h"
#include "harness/shrink/shrink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHRINK_OP_COUNT_MAX UINT64_C(20000000)
/* Each list that hangs takes its second, and each that crashes a process, so there may be fewer of
 * them. */
enum { SHRINK_HANG_COUNT_MAX = 300, SHRINK_PROCESS_COUNT_MAX = 2000 };
/* Edits in a row that make a list no shorter. */
enum { SEARCH_COUNT_MAX = 1000, SEARCH_PROCESS_COUNT_MAX = 50 };
enum { PROOF_COUNT = 3 };
#define SHRINK_DURATION_NS UINT64_C(600000000000)
/* The limits of one call in a shorter list: processor time, and wall time when it waits.  The last
 * run has the usual bound of processor time. */
#define ATTEMPT_OP_TIMEOUT_NS UINT64_C(250000000)
#define STUCK_NS UINT64_C(2000000000)

/* The context of the child. */
struct shrink_work {
    const struct shrink_process *shrink_process;
    char signature[SIGNATURE_BYTES]; /* of the finding that is kept */
    uint64_t replay_count_max;
    bool is_in_process;
    struct attempt attempt;
    struct op_list *resolved; /* to begin with, where lists are tried in processes of their own */
    uint64_t end_ns;          /* when the time is over */
};
/* The head of an answer; the ops follow.  The child answers with each list that counts: the last
 * one is the result. */
struct shrink_process_answer {
    struct setup setup;
    struct verdict first;
    char signature[SIGNATURE_BYTES]; /* of the finding that is kept; "" = still the one of before */
    uint64_t replays;
    uint64_t op_count;
    bool is_minimal;
};

/* rules: a bit each. */
static bool is_of_any(const char *signature, uint64_t rules)
{
    bool is = false;
    for (unsigned rule = 0; rule < RULE_COUNT && !is; rule++) {
        const char *name = rule_info((enum rule)rule)->name;
        is = (rules >> rule & 1) != 0 && strncmp(signature, name, strlen(name)) == 0;
    }
    return is;
}
static_assert(RULE_COUNT <= 64, "each rule has a bit");
#define RULE_BIT(rule) (UINT64_C(1) << (rule))

static bool is_hang(const char *signature)
{
    return is_of_any(signature, RULE_BIT(RULE_HANG));
}

/* Returns true if one process can try one list after the other. */
static bool is_tried_in_process(const char *signature)
{
    return !is_of_any(signature, RULE_BIT(RULE_HANG) | RULE_BIT(RULE_CRASH) |
                                     RULE_BIT(RULE_REPLAY) | RULE_BIT(RULE_RELATION));
}

/* Returns true if the finding may show only when the list is run again: see again.h. */
static bool may_take_two_runs(const char *signature)
{
    return is_of_any(signature, RULE_BIT(RULE_REPLAY) | RULE_BIT(RULE_RELATION) |
                                    RULE_BIT(RULE_CRASH) | RULE_BIT(RULE_HOST_MEMORY));
}

static uint64_t choose_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct attempt shrink_process_attempt(const struct target *target, const struct setup *setup,
                                      const char *signature)
{
    return (struct attempt){.target = target,
                            .setup = setup,
                            .duration_ns = SHRINK_DURATION_NS,
                            .stuck_ns = STUCK_NS,
                            .is_run_again = signature == NULL || may_take_two_runs(signature)};
}

/* --- references, resolved in a child --- */

/* The context of the child; shared is the list, in memory that both processes see. */
struct resolving {
    const struct attempt *attempt;
    struct op *shared;
    size_t count;
};

/* The op is written down before it runs: the target may not come back from it. */
static void resolve_all(void *context, int file)
{
    const struct resolving *work = context;
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(work->attempt->target, work->attempt->setup, reason);
    (void)file;
    for (size_t i = 0; run != NULL && i < work->count && !run_is_broken(run); i++) {
        struct op op = work->shared[i];
        if (op.host < run->setup.host_count) {
            driver_resolve(&run->hosts[op.host], &op);
        }
        work->shared[i] = op;
        (void)run_step(run, &op);
    }
    run_destroy(run);
}

static bool is_relative(const struct op_list *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        if ((ops->ops[i].flags & (OP_RELATIVE | OP_FITTED)) != 0) {
            return true;
        }
    }
    return false;
}

static void resolve_in_child(const struct attempt *attempt, struct op_list *ops)
{
    const size_t bytes = ops->count * sizeof *ops->ops;
    struct writing answer;
    struct death death;
    struct op *shared = shared_memory_create(bytes);
    if (shared == NULL) {
        return;
    }
    memcpy(shared, ops->ops, bytes);
    struct resolving work = {attempt, shared, ops->count};
    const struct child_job job = {.work = resolve_all,
                                  .context = &work,
                                  .duration_ns = attempt->duration_ns,
                                  .op_timeout_ns = attempt->op_timeout_ns,
                                  .stuck_ns = attempt->stuck_ns,
                                  .is_interruptible = true,
                                  .is_quiet = true};
    writing_init(&answer);
    (void)child_work(&job, &answer, &death);
    memcpy(ops->ops, shared, bytes);
    writing_deinit(&answer);
    shared_memory_destroy(shared, bytes);
}

/* Some ops name a block by its place among the live ones.  In *resolved they name it by number, so
 * that other ops can go without changing which block is meant.  The references are those of one
 * run.  Ops that it does not reach stay as they are; so do all with lanes, or when no process could
 * start. */
static void resolve_references(const struct attempt *attempt, const struct op_list *ops,
                               struct op_list *resolved)
{
    op_list_copy(resolved, ops);
    if (!lanes_are_in(ops) && is_relative(ops)) {
        resolve_in_child(attempt, resolved);
    }
}

/* --- in the child --- */

/* Runs the list; signature as in struct attempt. */
static void try_list(const struct shrink_work *work, const struct setup *setup,
                     const char *signature, const struct op_list *ops,
                     struct attempt_result *result)
{
    struct attempt attempt = work->attempt;
    attempt.setup = setup;
    attempt.signature = signature;
    attempt_run(&attempt, ops, NULL, result);
}

static bool attempt_is_same(void *context, const struct setup *setup, struct op_list *ops,
                            struct verdict *first)
{
    const struct shrink_work *work = context;
    struct attempt_result result;
    try_list(work, setup, work->signature, ops, &result);
    if (result.signature[0] == '\0' || !signature_stands_for(result.signature, work->signature)) {
        return false;
    }
    *first = result.first;
    ops->count = result.op_count;
    return true;
}

/* Does what shrink_explain() does, in a process.  A list that kills the target explains nothing. */
static bool attempt_explains(void *context, const struct setup *setup, struct op_list *ops,
                             struct verdict *first)
{
    struct shrink_work *work = context;
    struct attempt_result result;
    if (lanes_are_in(ops)) {
        return false;
    }
    try_list(work, setup, NULL, ops, &result);
    if (result.first.op + (size_t)1 != ops->count ||
        !signature_explains(result.signature, work->signature)) {
        return false;
    }
    *first = result.first;
    ops->count = result.op_count;
    memcpy(work->signature, result.signature, sizeof work->signature);
    return true;
}

/* The file for answers, and the signature that is kept, which may change. */
struct answering {
    int file;
    const char *signature;
};

static void send_answer(void *context, const struct shrink_result *result)
{
    const struct answering *answering = context;
    struct shrink_process_answer answer;
    memset(&answer, 0, sizeof answer);
    memcpy(answer.signature, answering->signature, sizeof answer.signature);
    answer.setup = result->setup;
    answer.first = result->first;
    answer.replays = result->replays;
    answer.op_count = result->ops.count;
    answer.is_minimal = result->is_minimal;
    (void)(file_write_all(answering->file, &answer, sizeof answer) &&
           file_write_all(answering->file, result->ops.ops,
                          result->ops.count * sizeof *result->ops.ops));
}

/* Answers with nothing when the list does not show the finding. */
static void shrink_and_answer(void *context, int file)
{
    struct shrink_work *work = context;
    const struct shrink_process *shrink_process = work->shrink_process;
    struct shrink_replaying replaying = {.target = shrink_process->target};
    snprintf(replaying.signature, sizeof replaying.signature, "%s", work->signature);
    struct answering answering = {file,
                                  work->is_in_process ? replaying.signature : work->signature};
    const struct shrink_try in_process = {.context = &replaying,
                                          .is_same = shrink_replay,
                                          .explains = shrink_explain,
                                          .find_cause = shrink_find_cause,
                                          .setup = shrink_process->setup,
                                          .found = send_answer,
                                          .found_context = &answering,
                                          .changes_setup = shrink_process->changes_setup,
                                          .cost = &replaying.cost,
                                          .op_count_max = SHRINK_OP_COUNT_MAX,
                                          .search_count_max = SEARCH_COUNT_MAX};
    const struct shrink_try in_attempts = {
        .context = work,
        .is_same = attempt_is_same,
        .explains = attempt_explains,
        .setup = shrink_process->setup,
        .found = send_answer,
        .found_context = &answering,
        .op_count_max = SHRINK_OP_COUNT_MAX,
        .search_count_max = is_hang(work->signature) ? 0 : SEARCH_PROCESS_COUNT_MAX};
    struct shrink_result result;
    if (work->is_in_process) {
        if (!shrink(&in_process, shrink_process->ops, work->replay_count_max, &result)) {
            return;
        }
    } else if (!shrink(&in_attempts, work->resolved, work->replay_count_max, &result) &&
               !shrink(&in_attempts, shrink_process->ops, work->replay_count_max, &result)) {
        return;
    }
    send_answer(&answering, &result);
    op_list_deinit(&result.ops);
}

/* --- in the parent --- */

/* Returns the length of the answer that begins at start; 0: it is not whole. */
static size_t answer_length(const struct writing *bytes, size_t start)
{
    struct rest rest = {bytes->bytes + start, bytes->length - start};
    struct shrink_process_answer answer;
    return !rest_take(&rest, &answer, sizeof answer) ||
                   rest.length / sizeof(struct op) < answer.op_count
               ? 0
               : sizeof answer + (size_t)answer.op_count * sizeof(struct op);
}

/* Removes all whole answers but the last one. */
static void forget_older(struct writing *bytes)
{
    size_t last = 0, length = answer_length(bytes, 0);
    for (size_t next = length; length != 0 && (length = answer_length(bytes, next)) != 0;
         next += length) {
        last = next;
    }
    if (last == 0) {
        return;
    }
    memmove(bytes->bytes, bytes->bytes + last, bytes->length - last);
    bytes->length -= last;
}

/* False: there is none. */
static bool take_answer(const struct writing *bytes, struct op_list *ops, struct shrunk *shrunk)
{
    struct rest rest = rest_of(bytes);
    struct shrink_process_answer answer;
    if (answer_length(bytes, 0) == 0) {
        return false;
    }
    (void)rest_take(&rest, &answer, sizeof answer);
    shrunk->setup = answer.setup;
    shrunk->first = answer.first;
    if (answer.signature[0] != '\0') {
        memcpy(shrunk->signature, answer.signature, sizeof shrunk->signature);
    }
    shrunk->replays += answer.replays;
    shrunk->is_minimal = answer.is_minimal;
    op_list_clear(ops);
    return rest_take_ops(&rest, answer.op_count, ops);
}

static uint64_t count_affordable_replays(const struct shrink_process *shrink_process,
                                         const char *signature, bool is_in_process)
{
    if (is_hang(signature)) {
        return choose_smaller(SHRINK_HANG_COUNT_MAX, shrink_process->replay_count_max);
    }
    return choose_smaller(is_in_process ? UINT64_MAX : SHRINK_PROCESS_COUNT_MAX,
                          shrink_process->replay_count_max);
}

static enum shrink_process_end end_with_reason(struct shrunk *shrunk, enum shrink_process_end end,
                                               const char *why)
{
    snprintf(shrunk->why, sizeof shrunk->why, "%.240s", why);
    return end;
}

static enum shrink_process_end end_without_process(struct shrunk *shrunk)
{
    char why[RUN_REASON_BYTES];
    snprintf(why, sizeof why, "cannot start another process: %s", strerror(errno));
    return end_with_reason(shrunk, SHRINK_PROCESS_FAILED, why);
}

static enum shrink_process_end end_not_broken(struct shrunk *shrunk)
{
    return end_with_reason(shrunk, SHRINK_PROCESS_NOT_BROKEN,
                           "the finding does not show when the op list runs again");
}

/* Runs the list, with the setup of shrunk, in a fresh process with the usual bounds: what it shows
 * there counts, and its certificate. */
static enum shrink_process_end prove_list(const struct shrink_process *shrink_process,
                                          const struct op_list *ops, bool is_certificate_wanted,
                                          bool is_shrunk, struct shrunk *shrunk)
{
    const char *wanted = shrunk->signature[0] == '\0' ? NULL : shrunk->signature;
    struct attempt attempt = shrink_process_attempt(shrink_process->target, &shrunk->setup, wanted);
    attempt.signature = wanted;
    attempt.is_uninterruptible = is_shrunk; /* what was found until then is the result */
    struct attempt_result result;
    writing_clear(&shrunk->certificate);
    attempt_run(&attempt, ops, is_certificate_wanted ? &shrunk->certificate : NULL, &result);
    switch (result.end) {
    case ATTEMPT_STOPPED:
        return end_with_reason(shrunk, SHRINK_PROCESS_STOPPED, "interrupted");
    case ATTEMPT_FAULTY:
        return end_with_reason(shrunk, SHRINK_PROCESS_FAULTY, result.first.reason);
    case ATTEMPT_FAILED:
        return end_without_process(shrunk);
    default:
        break;
    }
    if (result.signature[0] == '\0' ||
        (wanted != NULL && !signature_stands_for(result.signature, wanted))) {
        return end_not_broken(shrunk);
    }
    shrunk->first = result.first;
    memcpy(shrunk->signature, result.signature, sizeof shrunk->signature);
    return SHRINK_PROCESS_DONE;
}

/* Three times: a finding that shows now and then is none that a list repeats. */
static enum shrink_process_end prove_shrunk(const struct shrink_process *shrink_process,
                                            const struct op_list *ops, struct shrunk *shrunk)
{
    enum shrink_process_end end = SHRINK_PROCESS_DONE;
    for (int i = 0; i < PROOF_COUNT && end == SHRINK_PROCESS_DONE; i++) {
        end = prove_list(shrink_process, ops, i + 1 == PROOF_COUNT, true, shrunk);
    }
    return end;
}

/* Returns how much time is left for a child. */
static uint64_t time_left_ns(const struct shrink_work *work)
{
    const uint64_t now_ns = clock_now_ns();
    return work->end_ns > now_ns ? work->end_ns - now_ns : 0;
}

/* Shrinks from the whole list to the shrunk one, in one child. */
static enum shrink_process_end shrink_in_child(struct shrink_work *work, struct op_list *ops,
                                               struct shrunk *shrunk, bool *has_died)
{
    const struct child_job job = {.work = shrink_and_answer,
                                  .context = work,
                                  .duration_ns = time_left_ns(work),
                                  .is_interruptible = true,
                                  .is_quiet = true,
                                  .heard = forget_older};
    struct writing bytes;
    struct death death;
    char why[RUN_REASON_BYTES];
    writing_init(&bytes);
    const enum child_end end = child_work(&job, &bytes, &death);
    enum shrink_process_end result = SHRINK_PROCESS_DONE;
    *has_died = end == CHILD_DIED && death.kind != DEATH_CHECK;
    if (end == CHILD_NOT_BORN) {
        result = end_without_process(shrunk);
    } else if (end == CHILD_DIED) {
        death_describe(&death, why);
        result = end_with_reason(shrunk, SHRINK_PROCESS_FAULTY, why);
    } else if (end == CHILD_STOPPED) {
        snprintf(shrunk->cut, sizeof shrunk->cut, "%s",
                 interrupt_is_requested() ? "interrupted" : "time ran out");
        result = take_answer(&bytes, ops, shrunk)
                     ? SHRINK_PROCESS_DONE
                     : end_with_reason(shrunk, SHRINK_PROCESS_STOPPED, shrunk->cut);
    } else if (!take_answer(&bytes, ops, shrunk)) {
        result = end_not_broken(shrunk);
    }
    writing_deinit(&bytes);
    return result;
}

/* Shrinks with one process for each list. */
static enum shrink_process_end shrink_in_attempts(struct shrink_work *work, struct op_list *ops,
                                                  struct shrunk *shrunk)
{
    const struct shrink_process *shrink_process = work->shrink_process;
    struct op_list resolved;
    bool has_died = false;
    op_list_init(&resolved);
    resolve_references(&work->attempt, shrink_process->ops, &resolved);
    work->resolved = &resolved;
    work->is_in_process = false;
    memcpy(work->signature, shrunk->signature, sizeof work->signature);
    work->replay_count_max = count_affordable_replays(shrink_process, shrunk->signature, false);
    setup_copy(&shrunk->setup, shrink_process->setup);
    const enum shrink_process_end end = shrink_in_child(work, ops, shrunk, &has_died);
    op_list_deinit(&resolved);
    return end == SHRINK_PROCESS_DONE ? prove_shrunk(shrink_process, ops, shrunk) : end;
}

/* Shrinks in one process where that is possible.  Otherwise, and when the target died there of a
 * shorter list or depends on its past, it uses one process for each list. */
static enum shrink_process_end shrink_both_ways(const struct shrink_process *shrink_process,
                                                struct op_list *ops, struct shrunk *shrunk)
{
    struct shrink_work work = {
        .shrink_process = shrink_process,
        .replay_count_max = count_affordable_replays(shrink_process, shrunk->signature, true),
        .is_in_process = is_tried_in_process(shrunk->signature),
        .attempt = shrink_process_attempt(shrink_process->target, shrink_process->setup,
                                          shrunk->signature)};
    bool has_died = false;
    memcpy(work.signature, shrunk->signature, sizeof work.signature);
    work.end_ns = clock_now_ns() + (shrink_process->duration_ns == 0 ? SHRINK_DURATION_NS
                                                                     : shrink_process->duration_ns);
    work.attempt.op_timeout_ns = choose_smaller(ATTEMPT_OP_TIMEOUT_NS, death_op_timeout());
    if (work.is_in_process) {
        enum shrink_process_end end = shrink_in_child(&work, ops, shrunk, &has_died);
        if (end == SHRINK_PROCESS_DONE) {
            end = prove_shrunk(shrink_process, ops, shrunk);
        }
        if (end != SHRINK_PROCESS_NOT_BROKEN && !has_died) {
            return end;
        }
    }
    enum shrink_process_end end = shrink_in_attempts(&work, ops, shrunk);
    /* A call that is slow, and no more, is a hang within short bounds, and none within the usual
     * ones. */
    if (end == SHRINK_PROCESS_NOT_BROKEN && is_hang(shrunk->signature) &&
        work.attempt.op_timeout_ns < death_op_timeout()) {
        work.attempt.op_timeout_ns = death_op_timeout();
        end = shrink_in_attempts(&work, ops, shrunk);
    }
    return end;
}

enum shrink_process_end shrink_process_run(const struct shrink_process *shrink_process,
                                           struct shrunk *shrunk)
{
    struct op_list ops;
    enum shrink_process_end end = SHRINK_PROCESS_DONE;
    op_list_init(&ops);
    setup_init(&shrunk->setup);
    setup_copy(&shrunk->setup, shrink_process->setup);
    if (shrink_process->signature != NULL) {
        snprintf(shrunk->signature, sizeof shrunk->signature, "%s", shrink_process->signature);
    } else {
        end = prove_list(shrink_process, shrink_process->ops, false, false, shrunk);
    }
    if (end == SHRINK_PROCESS_DONE) {
        end = shrink_both_ways(shrink_process, &ops, shrunk);
    }
    if (end == SHRINK_PROCESS_DONE) {
        op_list_copy(&shrunk->ops, &ops);
        shrunk->why[0] = '\0';
    }
    op_list_deinit(&ops);
    return end;
}
