#include "cli/judgement.h"

#include "cli/clock.h"
#include "harness/check.h"
#include "reports/json_lines.h"

#include <string.h>
#include <sys/mman.h>

void judgement_init(struct judgement *judgement)
{
    memset(judgement, 0, sizeof *judgement);
    op_list_init(&judgement->ops);
    writing_init(&judgement->all);
    writing_init(&judgement->notable);
}

void judgement_deinit(struct judgement *judgement)
{
    op_list_deinit(&judgement->ops);
    writing_deinit(&judgement->all);
    writing_deinit(&judgement->notable);
}

const char *judgement_rule(const struct judgement *judgement)
{
    switch (judgement->head.end) {
    case JUDGEMENT_CRASHED: return "crash";
    case JUDGEMENT_HUNG: return "hang";
    default: break;
    }
    return judgement->head.first.kind == VERDICT_NONE ? NULL : rule_info(judgement->head.first.rule)->name;
}

struct last_words *last_words_create(void)
{
    void *memory = mmap(NULL, sizeof(struct last_words), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void last_words_destroy(struct last_words *words)
{
    (void)munmap(words, sizeof *words);
}

/* The trial that this process runs: a scenario's calls have no context but its own state, so the
 * one that listens in keeps what it needs here. */
static struct {
    const struct scenario *scenario;
    struct last_words *words;
} current;

static void begin_and_note(void *state, struct random *random, struct setup *setup, bool capacity_is_free)
{
    current.scenario->begin(state, random, setup, capacity_is_free);
    current.words->setup = *setup;
    current.words->has_begun = true;
}

static bool next_and_note(void *state, struct random *random, const struct scenario_view *view, struct op *op)
{
    if (!current.scenario->next(state, random, view, op))
        return false;
    if (current.words->op_count < LAST_OP_COUNT_MAX)
        current.words->ops[current.words->op_count] = *op;
    current.words->op_count++;
    return true;
}

struct listening {
    struct judgement *judgement;
    struct report_place place;
};

/* A few large blocks that live long are no leak, and neither is the first filling of a device. */
enum { GROWING_BLOCK_COUNT_MIN = 16, GROWING_OP_COUNT_MIN = 4096 };

/* 1024 ops between two looks: each costs as much as 64 samples of all tags.  The last promises are
 * judged after the last op, when all is freed: no second look then. */
static void look_for_growth(struct judgement_head *head, const struct run *run)
{
    uint64_t op_count = run_ops(run)->count;
    if (op_count < GROWING_OP_COUNT_MIN || op_count % 1024 != 0 || op_count == head->looked_op_count)
        return;
    head->looked_op_count = op_count;
    head->is_growing = run_growing_tag(run, 0, &head->growth) && head->growth.count >= GROWING_BLOCK_COUNT_MIN;
    if (!head->is_growing)
        return;
    const char *name = run_setup(run)->tags[head->growth.tag];
    if (name[0] != '\0')
        snprintf(head->growing_tag, sizeof head->growing_tag, "%s", name);
    else
        snprintf(head->growing_tag, sizeof head->growing_tag, "tag %u", head->growth.tag);
}

static void judged(void *context, const struct run *run, const struct verdict *verdict)
{
    struct listening *listening = context;
    struct judgement *judgement = listening->judgement;
    look_for_growth(&judgement->head, run);
    if (verdict->kind == VERDICT_JUSTIFIED || verdict->kind == VERDICT_UNKNOWN) {
        size_t start = judgement->all.length;
        json_verdict(&judgement->all, &listening->place, verdict, run_message(run), NULL);
        if (verdict->kind == VERDICT_UNKNOWN)
            writing_append_bytes(&judgement->notable, judgement->all.bytes + start, judgement->all.length - start);
        return;
    }
    if (verdict->kind != VERDICT_NONE)
        snprintf(judgement->head.message, sizeof judgement->head.message, "%s", run_message(run));
}

/* The recorded list must give the same observations again. */
static void compare_replay(const struct target *target, const struct trial *trial, struct judgement_head *head)
{
    struct trial again;
    char reason[RUN_REASON_BYTES] = "";
    bool ran = trial_replay(target, &trial->setup, &trial->ops, NULL, &again, reason);
    bool same = ran && again.digest == trial->digest && again.first.kind == VERDICT_NONE;
    if (ran)
        trial_deinit(&again);
    if (same)
        return;
    head->first = (struct verdict){.kind = VERDICT_BROKEN, .rule = RULE_REPLAY};
    head->first.op = trial->ops.count == 0 ? 0 : (uint32_t)(trial->ops.count - 1);
    snprintf(head->first.reason, sizeof head->first.reason,
             "the same ops gave other observations the second time%s%.180s", ran ? "" : ": refused: ", reason);
    head->totals.broken++;
}

static void judgement_take(struct judgement *judgement, const struct target *target, struct trial *trial)
{
    struct judgement_head *head = &judgement->head;
    head->totals = trial->totals;
    head->first = trial->first;
    if (head->first.kind == VERDICT_NONE && head->task.is_sampled)
        compare_replay(target, trial, head);
    if (head->first.kind != VERDICT_NONE) {
        head->has_list = true;
        judgement->setup = trial->setup;
        op_list_copy(&judgement->ops, &trial->ops);
    }
    trial_deinit(trial);
}

void judgement_make(const struct plan *plan, const struct task *task, struct last_words *words,
                    struct judgement *judgement)
{
    CHECK(task->part < plan->count);
    const struct part *part = &plan->parts[task->part];
    struct listening listening = {judgement, {part->name, task->trial}};
    struct run_listener listener = {&listening, judged};
    struct scenario scenario = *part->scenario;
    scenario.begin = begin_and_note;
    scenario.next = next_and_note;
    current.scenario = part->scenario;
    current.words = words;
    words->op_count = 0;
    words->has_begun = false;
    judgement->head.task = *task;

    struct setup setup = part->setup;
    setup.seed = plan_trial_seed(part, task->trial);
    uint64_t start_ns = clock_now_ns();
    struct trial trial;
    if (trial_run(part->target, &scenario, &setup, part->capacity_is_free, task->op_count_max, &listener, &trial,
                  judgement->head.reason))
        judgement_take(judgement, part->target, &trial);
    else
        judgement->head.end = JUDGEMENT_REFUSED;
    judgement->head.elapsed_ns = clock_now_ns() - start_ns;
}

void judgement_make_dead(const struct task *task, enum judgement_end end, const char *reason,
                         const struct last_words *words, struct judgement *judgement)
{
    struct judgement_head *head = &judgement->head;
    uint64_t kept = words->op_count < LAST_OP_COUNT_MAX ? words->op_count : LAST_OP_COUNT_MAX;
    head->task = *task;
    head->end = end;
    head->first = (struct verdict){.kind = VERDICT_BROKEN};
    head->first.op = words->op_count == 0 ? 0 : (uint32_t)(words->op_count - 1);
    snprintf(head->first.reason, sizeof head->first.reason, "%s", reason);
    head->totals.ops = words->op_count;
    head->totals.broken = 1;
    head->has_list = words->has_begun;
    judgement->setup = words->setup;
    for (uint64_t i = 0; i < kept && words->has_begun; i++)
        op_list_append(&judgement->ops, &words->ops[i]);
}

void judgement_pack(struct judgement *judgement, struct writing *bytes)
{
    struct judgement_head *head = &judgement->head;
    head->op_count = judgement->ops.count;
    head->all_bytes = judgement->all.length;
    head->notable_bytes = judgement->notable.length;
    writing_append_bytes(bytes, head, sizeof *head);
    if (head->has_list)
        writing_append_bytes(bytes, &judgement->setup, sizeof judgement->setup);
    writing_append_bytes(bytes, judgement->ops.ops, judgement->ops.count * sizeof *judgement->ops.ops);
    writing_append_bytes(bytes, judgement->all.bytes, judgement->all.length);
    writing_append_bytes(bytes, judgement->notable.bytes, judgement->notable.length);
}

static bool is_whole(const struct judgement_head *head, size_t length)
{
    size_t rest = length - sizeof *head;
    if (head->has_list && rest < sizeof(struct setup))
        return false;
    rest -= head->has_list ? sizeof(struct setup) : 0;
    return head->op_count <= rest / sizeof(struct op) && head->all_bytes <= rest && head->notable_bytes <= rest &&
           head->op_count * sizeof(struct op) + head->all_bytes + head->notable_bytes == rest;
}

bool judgement_unpack(const void *bytes, size_t length, struct judgement *judgement)
{
    struct judgement_head *head = &judgement->head;
    if (length < sizeof *head)
        return false;
    memcpy(head, bytes, sizeof *head);
    if (!is_whole(head, length))
        return false;
    const char *from = (const char *)bytes + sizeof *head;
    if (head->has_list) {
        memcpy(&judgement->setup, from, sizeof judgement->setup);
        from += sizeof judgement->setup;
    }
    for (uint64_t i = 0; i < head->op_count; i++, from += sizeof(struct op)) {
        struct op op;
        memcpy(&op, from, sizeof op);
        op_list_append(&judgement->ops, &op);
    }
    writing_append_bytes(&judgement->all, from, head->all_bytes);
    writing_append_bytes(&judgement->notable, from + head->all_bytes, head->notable_bytes);
    return true;
}
