/* A list, tried in this process. */

#include "harness/lanes/lanes.h"
#include "harness/run/run_state.h"
#include "harness/shrink/private/shrink_state.h"
#include "harness/shrink/shrink.h"
#include "harness/trial/trial_run.h"
#include <stdio.h>
#include <string.h>

#include <stdio.h>
#include <string.h>

/* A request that fails is judged, and blocks are moved for it before: that looks at every block
 * that lives, some more cheaply than an op. */
enum { BLOCKS_PER_OP = 16 };
/* If a verdict needs a search, its steps take far longer than the list: one of four million takes
 * half a second. */
enum { NODES_PER_OP = 64 };

static uint64_t cost_of(const struct run *run)
{
    const struct run_totals *totals = run_totals(run);
    uint64_t live = 0;
    for (uint32_t i = 0; i < run->setup.host_count; i++) {
        live += model_live_count(run_model(run, i));
    }
    return run_ops(run)->count + 1 + totals->moves + totals->ooms * (live / BLOCKS_PER_OP) +
           totals->search_nodes / NODES_PER_OP;
}

/* Only promises are judged: what a request cost beyond what it had to is nobody's to know here. */
static struct run *begin_run(const struct target *target, const struct setup *setup)
{
    char reason[RUN_REASON_BYTES];
    struct run *run = run_create(target, setup, reason);
    if (run != NULL) {
        run_judge_promises_only(run);
        run_go_on(run);
    }
    return run;
}

/* True if the run showed the finding that is kept: what comes then does not matter. */
static bool has_shown(const struct shrink_replaying *replaying, const struct run *run)
{
    const struct run_findings *findings = run_findings(run);
    return findings->count > 0 && replaying->signature[0] != '\0' &&
           run_findings_find(findings, replaying->signature) != NULL;
}

/* The answer to the last op. */
struct shrink_answer {
    bool is_granted;
    bool has_mitigation;           /* the target waited, moved or evicted for it */
    bool has_drained, has_evicted; /* in any op of the list */
};

static struct shrink_answer find_answer(const struct run *run, const struct op_list *ops)
{
    const struct observation *observation = run_observation(run);
    return (struct shrink_answer){
        .is_granted = run_ops(run)->count == ops->count && !observation->skipped &&
                      observation->result == TARGET_OK,
        .has_mitigation = observation->wait_count + observation->copy_count +
                              observation->stage_count + observation->unload_count >
                          0,
        .has_drained = run_totals(run)->drains > 0,
        .has_evicted = run_totals(run)->evictions > 0};
}

/* answer: NULL: nobody asks. */
static bool replay_alone(struct shrink_replaying *replaying, const struct setup *setup,
                         const struct op_list *ops, struct trial *trial,
                         struct shrink_answer *answer)
{
    struct run *run = begin_run(replaying->target, setup);
    replaying->cost = 1;
    if (run == NULL) {
        return false;
    }
    memset(&trial->first, 0, sizeof trial->first);
    for (size_t i = 0; i < ops->count && !run_is_broken(run) && !has_shown(replaying, run); i++) {
        (void)run_step(run, &ops->ops[i]);
    }
    if (answer != NULL) {
        *answer = find_answer(run, ops);
    }
    replaying->cost = cost_of(run);
    if (!run_is_broken(run) && !has_shown(replaying, run)) {
        (void)run_finish(run);
    }
    trial_collect(trial, run);
    trial_name_first(trial);
    run_destroy(run);
    return true;
}

static bool replay_list(struct shrink_replaying *replaying, const struct setup *setup,
                        const struct op_list *ops, struct trial *trial)
{
    char reason[RUN_REASON_BYTES];
    if (!lanes_are_in(ops)) {
        return replay_alone(replaying, setup, ops, trial, NULL);
    }
    replaying->cost = ops->count + 1;
    return trial_replay(replaying->target, setup, ops, NULL, trial, reason);
}

/* Takes the list as it ran, cut behind the op that broke: nothing after it matters. */
static void take_list(struct op_list *ops, const struct trial *trial, const struct verdict *broken)
{
    op_list_copy(ops, &trial->ops);
    /* With lanes the ops behind it may have run before it. */
    if (broken->op < ops->count && !lanes_are_in(ops)) {
        ops->count = (size_t)broken->op + 1;
    }
}

/* Returns what the trial shows of the kept finding.  If none is kept, the gravest is from now on.
 */
static const struct run_finding *find_shown(struct shrink_replaying *replaying,
                                            const struct trial *trial)
{
    if (replaying->signature[0] == '\0') {
        const struct run_finding *gravest = run_findings_gravest(&trial->findings);
        (void)snprintf(replaying->signature, SIGNATURE_BYTES, "%s",
                       gravest == NULL ? "" : gravest->signature);
        return gravest;
    }
    return run_findings_find(&trial->findings, replaying->signature);
}

bool shrink_replay(void *context, const struct setup *setup, struct op_list *ops,
                   struct verdict *first)
{
    struct shrink_replaying *replaying = context;
    struct trial trial;
    if (!replay_list(replaying, setup, ops, &trial)) {
        return false;
    }
    const struct run_finding *shown = find_shown(replaying, &trial);
    const bool is_granule_taken = setup->granule_bytes == 0 ||
                                  setup->granule_bytes == trial.setup.granule_bytes;
    const bool is_same = shown != NULL && is_granule_taken;
    if (is_same) {
        *first = shown->verdict;
        take_list(ops, &trial, &shown->verdict);
    }
    trial_deinit(&trial);
    return is_same;
}

/* Takes the finding at the last op that explains the one that is kept. */
static bool take_explanation(struct shrink_replaying *replaying, const struct trial *trial,
                             struct op_list *ops, struct verdict *first)
{
    for (size_t i = 0; i < trial->findings.count; i++) {
        const struct run_finding *finding = &trial->findings.findings[i];
        if (finding->verdict.op + (size_t)1 == ops->count &&
            signature_explains(finding->signature, replaying->signature)) {
            *first = finding->verdict;
            memcpy(replaying->signature, finding->signature, sizeof replaying->signature);
            take_list(ops, trial, first);
            return true;
        }
    }
    return false;
}

/* Explains as shrink_explain does, for a list without lanes.  answer may be NULL. */
static bool explain_or_answer(struct shrink_replaying *replaying, const struct setup *setup,
                              struct op_list *ops, struct verdict *first,
                              struct shrink_answer *answer)
{
    struct shrink_replaying any = {.target = replaying->target};
    struct trial trial;
    if (!replay_alone(&any, setup, ops, &trial, answer)) {
        return false;
    }
    replaying->cost = any.cost;
    const bool is_explained = take_explanation(replaying, &trial, ops, first);
    trial_deinit(&trial);
    return is_explained;
}

bool shrink_explain(void *context, const struct setup *setup, struct op_list *ops,
                    struct verdict *first)
{
    return !lanes_are_in(ops) && explain_or_answer(context, setup, ops, first, NULL);
}

/* --- was a mitigation lacking for a refused request?  It is made from outside, before the request
 * --- */

/* Longer than any event takes that is not lost. */
#define LONG_NS (UINT64_C(1) << 50)

enum { BEFORE_DEFRAGMENT = 1, BEFORE_DRAIN = 2, BEFORE_EVICT = 4, BEFORE_ALL = 7 };

/* The one that leaves as many bytes free comes first. */
static const unsigned befores[] = {BEFORE_DEFRAGMENT, BEFORE_DRAIN, BEFORE_EVICT, BEFORE_ALL};

static void insert_op(struct op_list *list, const struct op *request, struct op op)
{
    op.host = request->host;
    op.lane = request->lane;
    op_list_insert(list, list->count - 1, &op, 1);
}

/* Unloads all programs but the request's.  Some are skipped, or wait: unloaded, or executing. */
static void insert_unloads(struct op_list *list, const struct op *request)
{
    const size_t count = list->count - 1;
    for (size_t i = 0; i < count; i++) {
        if (op_kind_info(list->ops[i].kind)->makes_program && list->ops[i].host == request->host &&
            i != request->ref) {
            struct op op = op_make(OP_UNLOAD);
            op.ref = (uint32_t)i;
            insert_op(list, request, op);
        }
    }
}

/* Puts mitigations before the last op, which is the request, and asks for the same no more. */
static void insert_before(struct op_list *list, unsigned before)
{
    list->ops[list->count - 1].flags &= (uint8_t)~OP_RETRY;
    const struct op request = list->ops[list->count - 1];
    if ((before & BEFORE_DRAIN) != 0) {
        struct op op = op_make(OP_ADVANCE);
        op.delay_ns = LONG_NS;
        insert_op(list, &request, op);
    }
    if ((before & BEFORE_EVICT) != 0) {
        insert_unloads(list, &request);
    }
    if ((before & BEFORE_DEFRAGMENT) != 0) {
        insert_op(list, &request, op_make(OP_DEFRAGMENT));
    }
}

/* True if the mitigation is what lacked.  A wait or an eviction leaves more bytes free, which may
 * be what the request needed: it tells only of a target that never makes it. */
static bool tells_cause(unsigned before, const struct shrink_answer *answer)
{
    return answer->is_granted &&
           (before == BEFORE_DEFRAGMENT || (before == BEFORE_DRAIN && !answer->has_drained) ||
            (before == BEFORE_EVICT && !answer->has_evicted));
}

/* Makes each mitigation before the request. */
static enum shrink_cause try_mitigations(struct shrink_replaying *replaying,
                                         const struct setup *setup, struct op_list *ops,
                                         struct verdict *first, uint64_t *cost)
{
    enum shrink_cause cause = SHRINK_CAUSE_OPEN;
    struct op_list list;
    op_list_init(&list);
    for (size_t i = 0; i < sizeof befores / sizeof befores[0] && cause != SHRINK_CAUSE_OTHER; i++) {
        struct shrink_answer answer = {0};
        op_list_copy(&list, ops);
        insert_before(&list, befores[i]);
        if (explain_or_answer(replaying, setup, &list, first, &answer)) {
            op_list_copy(ops, &list);
            cause = SHRINK_CAUSE_OTHER;
        } else if (tells_cause(befores[i], &answer)) {
            cause = SHRINK_CAUSE_OWN;
        }
        *cost += replaying->cost;
    }
    op_list_deinit(&list);
    return cause;
}

/* The power of two that is smaller, and the eighths; 0: there are no more. */
static uint64_t find_smaller_size(uint64_t size_bytes, unsigned i)
{
    enum { EIGHTH_COUNT = 4 };
    if (i > EIGHTH_COUNT || size_bytes < 2) {
        return 0;
    }
    return i == 0 ? UINT64_C(1) << (63 - __builtin_clzll(size_bytes - 1))
                  : size_bytes / 8 * (EIGHTH_COUNT + i - 1);
}

/* True if the target makes mitigations for a request that is somewhat smaller, and grants it.  The
 * larger one is then refused for its size. */
static bool is_smaller_granted(struct shrink_replaying *replaying, const struct setup *setup,
                               const struct op_list *ops, uint64_t *cost)
{
    const size_t last = ops->count - 1;
    bool is_granted = false;
    struct op_list list;
    struct verdict ignored;
    if (!shrinker_is_request(&ops->ops[last])) {
        return false;
    }
    op_list_init(&list);
    uint64_t size_bytes = find_smaller_size(ops->ops[last].size_bytes, 0);
    for (unsigned i = 1; size_bytes > 0 && !is_granted; i++) {
        struct shrink_replaying any = {.target = replaying->target};
        struct shrink_answer answer = {0};
        op_list_copy(&list, ops);
        list.ops[last].flags &= (uint8_t)~OP_RETRY;
        list.ops[last].size_bytes = size_bytes;
        list.ops[last].unpadded_bytes = 0;
        (void)explain_or_answer(&any, setup, &list, &ignored, &answer);
        is_granted = answer.is_granted && answer.has_mitigation;
        *cost += any.cost;
        size_bytes = find_smaller_size(ops->ops[last].size_bytes, i);
    }
    op_list_deinit(&list);
    return is_granted;
}

enum shrink_cause shrink_find_cause(void *context, const struct setup *setup, struct op_list *ops,
                                    struct verdict *first)
{
    struct shrink_replaying *replaying = context;
    uint64_t cost = 0;
    if (ops->count == 0 || lanes_are_in(ops) || !signature_lacks_mitigation(replaying->signature)) {
        return SHRINK_CAUSE_OPEN;
    }
    enum shrink_cause cause = try_mitigations(replaying, setup, ops, first, &cost);
    if (cause == SHRINK_CAUSE_OWN && is_smaller_granted(replaying, setup, ops, &cost)) {
        cause = SHRINK_CAUSE_OPEN;
    }
    replaying->cost = cost;
    return cause;
}
