#include "campaign/process/attempt.h"

#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/trial/trial_run.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A trial takes far less; one that never ends costs no more than this. */
#define FRESH_DURATION_NS UINT64_C(10000000000)
/* Longer than that, and no longer: the target may have written into the pipe. */
enum { WAIT_MS = 15000 };

struct fresh {
    struct child child;
    bool is_lost; /* it gave no answer, or none to this question: it is asked no more */
};

/* The question to the fresh process; the setup and the ops follow.  It is a copy of this process,
 * so the target has the same address.  Anything that begins otherwise is no question. */
#define QUESTION_MAGIC UINT64_C(0x6672657368717565)
struct question {
    uint64_t magic;
    const struct target *target;
    uint64_t op_count;
    bool wants_answers;
};
/* The head of what it says; the observations follow.  Their number is not known when there are no
 * bytes: the target refused, or took the process with it. */
struct fresh_answer {
    uint64_t digest, finding_count, observation_count;
};

/* The outcome of each op that ran. */
struct fresh_seen {
    struct observation *observations; /* count of them */
    size_t count, capacity;
};

static void see_op(void *context, const struct run *run, const struct verdict *verdict)
{
    struct fresh_seen *seen = context;
    (void)verdict;
    if (run_ops(run)->count <= seen->count || seen->count == seen->capacity) {
        return; /* the last promises are no op */
    }
    seen->observations[seen->count++] = *run_observation(run);
}

static void seen_init(struct fresh_seen *seen, size_t op_count)
{
    *seen = (struct fresh_seen){.capacity = op_count};
    seen->observations = calloc(op_count + 1, sizeof *seen->observations);
    CHECK(seen->observations != NULL);
}

/* False: the target refused the setup.  Where nobody asks for each op, regrets are not looked for:
 * the digest is the same. */
static bool run_list(const struct target *target, const struct setup *setup,
                     const struct op_list *ops, struct fresh_seen *seen,
                     struct fresh_answer *answer)
{
    char reason[RUN_REASON_BYTES];
    struct trial trial;
    const struct run_listener listener = {seen, see_op};
    const bool has_run = seen == NULL ? trial_confirm(target, setup, ops, &trial, reason)
                                      : trial_repeat(target, setup, ops, &listener, &trial, reason);
    if (!has_run) {
        return false;
    }
    *answer = (struct fresh_answer){.digest = trial.digest, .finding_count = trial.findings.count};
    trial_deinit(&trial);
    return true;
}

/* --- the fresh process, and its children --- */

struct fresh_asked {
    struct question question;
    struct setup setup;
    struct op_list ops;
};

static void run_and_answer(void *context, int file)
{
    const struct fresh_asked *asked = context;
    struct fresh_answer answer;
    struct fresh_seen seen;
    seen_init(&seen, asked->question.wants_answers ? asked->ops.count : 0);
    if (run_list(asked->question.target, &asked->setup, &asked->ops,
                 asked->question.wants_answers ? &seen : NULL, &answer)) {
        answer.observation_count = seen.count;
        (void)(file_write_all(file, &answer, sizeof answer) &&
               file_write_all(file, seen.observations, seen.count * sizeof *seen.observations));
    }
    free(seen.observations);
}

static bool read_question(int tasks, struct fresh_asked *asked)
{
    op_list_init(&asked->ops);
    if (!file_read_all(tasks, &asked->question, sizeof asked->question) ||
        asked->question.magic != QUESTION_MAGIC ||
        !file_read_all(tasks, &asked->setup, sizeof asked->setup)) {
        return false;
    }
    for (uint64_t i = 0; i < asked->question.op_count; i++) {
        struct op op;
        if (!file_read_all(tasks, &op, sizeof op)) {
            return false;
        }
        op_list_append(&asked->ops, &op);
    }
    return true;
}

/* Whatever the child dies of, nothing is said then: a trial of its own finds that. */
static bool ask_child(struct fresh_asked *asked, int answers)
{
    const struct child_job job = {
        .work = run_and_answer, .context = asked, .duration_ns = FRESH_DURATION_NS};
    struct death death;
    struct writing bytes;
    writing_init(&bytes);
    const bool is_done = child_work(&job, &bytes, &death) == CHILD_DONE;
    const uint64_t length = is_done ? bytes.length : 0;
    const bool is_told = file_write_all(answers, &length, sizeof length) &&
                         file_write_all(answers, bytes.bytes, length);
    writing_deinit(&bytes);
    return is_told;
}

/* No target ever runs here, only in its children. */
static void stay_fresh(void *context, int tasks, int answers)
{
    struct fresh_asked asked;
    (void)context;
    bool goes_on = true;
    while (goes_on) {
        goes_on = read_question(tasks, &asked) && ask_child(&asked, answers);
        op_list_deinit(&asked.ops);
    }
}

/* --- who asks --- */

struct fresh *fresh_create(void)
{
    struct fresh *fresh = calloc(1, sizeof *fresh);
    CHECK(fresh != NULL);
    if (!child_start(&fresh->child, stay_fresh, NULL, CHILD_TAKES_TASKS)) {
        free(fresh);
        return NULL;
    }
    return fresh;
}

void fresh_destroy(struct fresh *fresh)
{
    if (fresh == NULL) {
        return;
    }
    (void)child_stop(&fresh->child);
    free(fresh);
}

static bool send_question(int file, const struct target *target, const struct trial *trial,
                          bool wants_answers)
{
    const struct question question = {.magic = QUESTION_MAGIC,
                                      .target = target,
                                      .op_count = trial->ops.count,
                                      .wants_answers = wants_answers};
    return file_write_all(file, &question, sizeof question) &&
           file_write_all(file, &trial->setup, sizeof trial->setup) &&
           file_write_all(file, trial->ops.ops, trial->ops.count * sizeof *trial->ops.ops);
}

/* seen NULL: no observations were asked for. */
static bool read_answer(int file, uint64_t length, struct fresh_seen *seen,
                        struct fresh_answer *answer)
{
    const size_t most = seen == NULL ? 0 : seen->capacity;
    if (length < sizeof *answer || !file_read_all(file, answer, sizeof *answer) ||
        answer->observation_count > most ||
        length != sizeof *answer + answer->observation_count * sizeof(struct observation)) {
        return false;
    }
    return seen == NULL || file_read_all(file, seen->observations,
                                         answer->observation_count * sizeof *seen->observations);
}

/* False: the process is gone, or its child did not answer. */
static bool ask(struct fresh *fresh, const struct target *target, const struct trial *trial,
                struct fresh_seen *seen, struct fresh_answer *answer)
{
    struct pollfd file = {.fd = fresh->child.answers, .events = POLLIN};
    uint64_t length = 0;
    fresh->is_lost = fresh->is_lost ||
                     !send_question(fresh->child.tasks, target, trial, seen != NULL) ||
                     poll(&file, 1, WAIT_MS) <= 0 ||
                     !file_read_all(file.fd, &length, sizeof length);
    if (fresh->is_lost || length == 0) {
        return false;
    }
    fresh->is_lost = !read_answer(file.fd, length, seen, answer);
    return !fresh->is_lost;
}

/* --- what differs --- */

static const char *result_word(const struct observation *seen)
{
    static const char *const words[] = {[TARGET_OK] = "OK",
                                        [TARGET_NO_MEMORY] = "NO_MEMORY",
                                        [TARGET_INVALID] = "INVALID",
                                        [TARGET_FAILED] = "FAILED"};
    if (seen->skipped != 0) {
        return "nothing, as it was not asked";
    }
    return seen->result <= TARGET_FAILED ? words[seen->result] : "no result";
}

struct difference {
    const char *format; /* of both numbers; NULL: the answer itself */
    uint64_t here, fresh;
};

/* The first number that differs, behind the answer itself. */
static struct difference find_difference(const struct observation *here,
                                         const struct observation *fresh)
{
    const struct difference all[] = {
        {"an address of 0x%" PRIx64 ", but 0x%" PRIx64, here->address, fresh->address},
        {"a block of %" PRIu64 " bytes, but %" PRIu64, here->size_bytes, fresh->size_bytes},
        {"%" PRIu64 " device calls, but %" PRIu64, here->call_count, fresh->call_count},
        {"%" PRIu64 " bytes in use, but %" PRIu64, here->bytes_in_use, fresh->bytes_in_use},
        {"%" PRIu64 " bytes reserved, but %" PRIu64, here->bytes_reserved, fresh->bytes_reserved},
        {"a virtual time of %" PRIu64 " ns, but %" PRIu64, here->now_ns, fresh->now_ns},
        {"device calls of the digest %" PRIu64 ", but %" PRIu64, here->calls_digest,
         fresh->calls_digest},
        {"a message of the digest %" PRIu64 ", but %" PRIu64, here->message_digest,
         fresh->message_digest}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].here != all[i].fresh) {
            return all[i];
        }
    }
    return (struct difference){NULL, 0, 0};
}

static void explain(const struct observation *here, const struct observation *fresh,
                    struct verdict *broken)
{
    static const char begins[] = "the target keeps state between trials: it answers";
    static const char ends[] = "in a process in which it never ran";
    const struct difference difference = find_difference(here, fresh);
    char both[96] = "";
    if (here->result != fresh->result || here->skipped != fresh->skipped ||
        difference.format == NULL) {
        (void)snprintf(broken->reason, sizeof broken->reason,
                       "%s %s here, after other trials, but %s %s", begins, result_word(here),
                       result_word(fresh), ends);
        return;
    }
    (void)snprintf(both, sizeof both, difference.format, difference.here, difference.fresh);
    (void)snprintf(broken->reason, sizeof broken->reason,
                   "%s %s here, after other trials, with %s %s", begins, result_word(here), both,
                   ends);
}

/* Finds the first difference by running both again.  If there is none now, the digests differed. */
static void find_first_difference(struct fresh *fresh, const struct target *target,
                                  const struct trial *trial, struct verdict *broken)
{
    struct fresh_answer answer, answer_here;
    struct fresh_seen seen, here;
    seen_init(&seen, trial->ops.count);
    seen_init(&here, trial->ops.count);
    broken->op = trial->ops.count == 0 ? 0 : (uint32_t)(trial->ops.count - 1);
    (void)snprintf(broken->reason, sizeof broken->reason,
                   "the target keeps state between trials: the same ops gave other observations in "
                   "a process in which it never ran");
    if (ask(fresh, target, trial, &seen, &answer) &&
        run_list(target, &trial->setup, &trial->ops, &here, &answer_here)) {
        seen.count = answer.observation_count;
        for (size_t i = 0; i < seen.count && i < here.count; i++) {
            if (memcmp(&seen.observations[i], &here.observations[i], sizeof *seen.observations) !=
                0) {
                broken->op = (uint32_t)i;
                explain(&here.observations[i], &seen.observations[i], broken);
                break;
            }
        }
    }
    free(here.observations);
    free(seen.observations);
}

bool fresh_breaks(struct fresh *fresh, const struct target *target, const struct trial *trial,
                  struct verdict *broken)
{
    struct fresh_answer answer;
    broken->kind = VERDICT_NONE;
    if (!ask(fresh, target, trial, NULL, &answer) ||
        (answer.digest == trial->digest && answer.finding_count == trial->findings.count)) {
        return false;
    }
    *broken = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_REPLAY};
    (void)snprintf(broken->mechanism, sizeof broken->mechanism, "%s", FRESH_MECHANISM);
    find_first_difference(fresh, target, trial, broken);
    return true;
}
