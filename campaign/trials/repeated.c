#include "campaign/trials/earlier.h"

#include "campaign/base/clock.h"
#include "campaign/base/interrupt.h"
#include "campaign/process/shrink_process.h"
#include "harness/base/check.h"
#include "harness/lanes/lanes_list.h"

#include <stdlib.h>
#include <string.h>

enum { ALONE_COUNT = 3, PROOF_COUNT = 2, TRY_COUNT_MAX = 400 };
#define EARLIER_NS UINT64_C(20000000000)
#define SEARCH_NS UINT64_C(30000000000)

/* A list that is tried behind others. */
struct repeat_search {
    struct attempt attempt;
    const char *signature;
    const struct op_list *ops;
    const struct earlier_list **lists; /* count of them: the fewest so far, in their order */
    size_t count;
    uint64_t end_ns;
    unsigned tries_left;
    bool is_stopped;   /* interrupted, or no process could be had */
    uint64_t op_count; /* of the list, up to the op that broke the last time it showed */
};

void repeated_deinit(struct repeated *repeated)
{
    earlier_deinit(&repeated->earlier);
}

/* Returns true if the time or the tries are used up, or the user asked to stop. */
static bool is_over(const struct repeat_search *search)
{
    return search->is_stopped || search->tries_left == 0 || clock_now_ns() >= search->end_ns ||
           interrupt_is_requested();
}

static bool shows(struct repeat_search *search, const struct earlier_list *const *lists,
                  size_t count)
{
    struct attempt attempt = search->attempt;
    struct attempt_result result;
    attempt.before = lists;
    attempt.before_count = count;
    search->tries_left -= search->tries_left > 0;
    attempt_run(&attempt, search->ops, NULL, &result);
    search->is_stopped = result.end == ATTEMPT_STOPPED || result.end == ATTEMPT_FAILED ||
                         result.end == ATTEMPT_FAULTY;
    const bool is_shown = result.signature[0] != '\0' &&
                          signature_stands_for(result.signature, search->signature);
    if (is_shown) {
        search->op_count = result.op_count;
    }
    return is_shown;
}

static bool shows_last(struct repeat_search *search, const struct earlier *earlier, size_t count)
{
    const struct earlier_list **last = earlier->lists + (earlier->count - count);
    if (!shows(search, last, count)) {
        return false;
    }
    search->count = count;
    memcpy(search->lists, last, count * sizeof *last);
    return true;
}

/* The last 1, 2, 4 ... of them, up to all.  Returns how many were not enough. */
static size_t find_last(struct repeat_search *search, const struct earlier *earlier)
{
    size_t count = 1, too_few = 0;
    while (too_few < earlier->count && !is_over(search) && !shows_last(search, earlier, count)) {
        too_few = count;
        count = count < earlier->count / 2 ? 2 * count : earlier->count;
    }
    return too_few;
}

/* Finds the fewest last lists that show it, more than too_few and at most as many as are known. */
static void find_fewest_last(struct repeat_search *search, const struct earlier *earlier,
                             size_t too_few)
{
    while (search->count - too_few > 1 && !is_over(search)) {
        const size_t middle = too_few + (search->count - too_few) / 2;
        if (!shows_last(search, earlier, middle)) {
            too_few = middle;
        }
    }
}

/* The first ops of each list may do: whoever counts trials does not ask for more. */
static bool cuts(struct repeat_search *search, struct earlier *earlier, size_t op_count)
{
    size_t *counts = calloc(earlier->owned_count, sizeof *counts);
    CHECK(counts != NULL);
    for (size_t i = 0; i < earlier->owned_count; i++) {
        struct op_list *ops = &earlier->owned[i].ops;
        counts[i] = ops->count;
        if (op_count < ops->count && !lanes_are_in(ops)) {
            ops->count = op_count;
        }
    }
    const bool is_shown = shows(search, search->lists, search->count);
    for (size_t i = 0; i < earlier->owned_count && !is_shown; i++) {
        earlier->owned[i].ops.count = counts[i];
    }
    free(counts);
    return is_shown;
}

static void cut_lists(struct repeat_search *search, struct earlier *earlier)
{
    static const size_t op_counts[] = {1, 8, 64, 512};
    bool is_cut = false;
    for (size_t i = 0; i < sizeof op_counts / sizeof *op_counts && !is_cut; i++) {
        is_cut = !is_over(search) && cuts(search, earlier, op_counts[i]);
    }
}

/* Returns true if it shows without the lists from start to end; then these are dropped. */
static bool drops(struct repeat_search *search, size_t start, size_t end)
{
    const size_t count = search->count - (end - start);
    const struct earlier_list **rest = calloc(count + 1, sizeof *rest);
    CHECK(rest != NULL);
    memcpy(rest, search->lists, start * sizeof *rest);
    memcpy(rest + start, search->lists + end, (search->count - end) * sizeof *rest);
    const bool is_shown = shows(search, rest, count);
    if (is_shown) {
        memcpy(search->lists, rest, count * sizeof *rest);
        search->count = count;
    }
    free(rest);
    return is_shown;
}

/* Shorter and shorter pieces go, from the front, until no single one can.  One stays: alone the
 * list shows nothing. */
static void drop_all(struct repeat_search *search)
{
    size_t piece = search->count / 2;
    while (piece > 0 && search->count > 1 && !is_over(search)) {
        bool is_shorter = false;
        for (size_t start = 0; start < search->count && search->count > 1 && !is_over(search);) {
            const size_t end = start + piece < search->count ? start + piece : search->count;
            if (end - start < search->count && drops(search, start, end)) {
                is_shorter = true;
            } else {
                start = end;
            }
        }
        if (piece > 1) {
            piece /= 2;
        } else if (!is_shorter) {
            break;
        }
    }
}

/* A few times more, so that what is told repeats. */
static bool is_proved(struct repeat_search *search)
{
    bool is_shown = true;
    for (int i = 0; i < PROOF_COUNT && is_shown; i++) {
        is_shown = shows(search, search->lists, search->count);
    }
    return is_shown;
}

/* Like is_proved(), without the ops behind the one that broke, if that shows it, too. */
static bool is_proved_short(struct repeat_search *search)
{
    const struct op_list *whole = search->ops;
    struct op_list cut = *whole; /* not owned */
    cut.count = search->op_count < cut.count ? search->op_count : cut.count;
    search->ops = &cut;
    if (is_proved(search)) {
        return true;
    }
    search->ops = whole;
    search->op_count = whole->count;
    return !search->is_stopped && is_proved(search);
}

static void search_earlier(struct repeat_search *search, const struct plan *plan,
                           const struct trial_result *trial_result, struct repeated *repeated)
{
    struct earlier *earlier = &repeated->earlier;
    if (!earlier_collect(plan, &trial_result->earlier, EARLIER_NS, earlier)) {
        return;
    }
    search->end_ns = clock_now_ns() + SEARCH_NS;
    search->lists = calloc(earlier->count, sizeof *search->lists);
    CHECK(search->lists != NULL);
    const size_t too_few = find_last(search, earlier);
    if (search->count > 0) {
        cut_lists(search, earlier);
        find_fewest_last(search, earlier, too_few);
        drop_all(search);
    }
    if (search->count > 0 && !search->is_stopped && is_proved_short(search)) {
        memcpy(earlier->lists, search->lists, search->count * sizeof *search->lists);
        earlier->count = search->count;
        repeated->end = REPEATED_AFTER;
        repeated->op_count = search->op_count;
    }
    free(search->lists);
}

static void search_begin(struct repeat_search *search, const struct plan *plan,
                         const struct trial_result *trial_result, const struct op_list *ops)
{
    const struct trial_result_head *head = &trial_result->head;
    *search = (struct repeat_search){
        .attempt = shrink_process_attempt(plan->parts[head->task.part].target, &trial_result->setup,
                                          head->signature),
        .signature = head->signature,
        .ops = ops,
        .tries_left = TRY_COUNT_MAX};
    search->attempt.signature = head->signature;
    search->attempt.duration_ns = EARLIER_NS + SEARCH_NS;
}

static enum repeated_end search_alone(struct repeat_search *search)
{
    bool is_shown = false;
    for (int i = 0; i < ALONE_COUNT && !is_shown && !search->is_stopped; i++) {
        is_shown = shows(search, NULL, 0);
    }
    return is_shown ? REPEATED_ALONE : search->is_stopped ? REPEATED_UNTOLD : REPEATED_NOT;
}

enum repeated_end repeated_alone(const struct plan *plan, const struct trial_result *trial_result,
                                 const struct op_list *ops)
{
    struct repeat_search search;
    search_begin(&search, plan, trial_result, ops);
    return search_alone(&search);
}

void repeated_find(const struct plan *plan, const struct trial_result *trial_result,
                   const struct op_list *ops, struct repeated *repeated)
{
    struct repeat_search search;
    search_begin(&search, plan, trial_result, ops);
    *repeated = (struct repeated){.end = search_alone(&search)};
    if (repeated->end == REPEATED_NOT) {
        search_earlier(&search, plan, trial_result, repeated);
    }
    if (repeated->end == REPEATED_NOT && (search.is_stopped || interrupt_is_requested())) {
        repeated->end = REPEATED_UNTOLD;
    }
}
