/* Finds out if a mitigation was lacking for a refused request: it is made from outside, before the
 * request. */
#include "harness/lanes/lanes.h"
#include "harness/shrink/private/shrink_replay.h"
#include "harness/shrink/private/shrink_state.h"
#include "harness/shrink/shrink.h"

#include <string.h>

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
        if (shrink_explain_or_answer(replaying, setup, &list, first, &answer)) {
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
        (void)shrink_explain_or_answer(&any, setup, &list, &ignored, &answer);
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
