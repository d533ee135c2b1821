#include "campaign/process/repeat.h"

#include "campaign/base/interrupt.h"
#include "campaign/base/rest.h"
#include "campaign/process/child.h"
#include "harness/base/check.h"
#include "harness/base/random.h"

/* --- in the child --- */

/* Runs one search, and goes on after harm with other signatures that ends it.  True: one had the
 * same. */
static bool search_signature(const struct repeat *repeat, const struct lanes_search *how,
                             struct op_list *shown)
{
    char reason[RUN_REASON_BYTES];
    bool is_same = false, goes_on = true;
    struct lanes_search search = *how;
    search.goes_on = true;
    search.signature = repeat->signature;
    while (goes_on && !is_same) {
        struct trial trial;
        struct lanes_found found;
        if (!lanes_search(repeat->target, repeat->setup, repeat->ops, &search, NULL, &trial, &found,
                          reason)) {
            return false;
        }
        const struct run_finding *same = run_findings_find(&trial.findings, repeat->signature);
        is_same = same != NULL;
        if (is_same && !search.is_free_running) {
            op_list_copy(shown, trial_list(&trial, same));
        }
        goes_on = trial_is_ended(&trial) && found.schedule_count > 0 &&
                  found.schedule_count < search.schedule_count_max;
        search.schedule_count_max -= goes_on ? found.schedule_count : 0;
        search.seed = random_derive(search.seed, 1);
        trial_deinit(&trial);
    }
    return is_same;
}

/* Answers with the count of ops and these, or with nothing. */
static void search_and_answer(void *context, int file)
{
    const struct repeat *repeat = context;
    struct op_list shown;
    bool is_same = false;
    op_list_init(&shown);
    for (size_t i = 0; i < repeat->search_count && !is_same; i++) {
        is_same = search_signature(repeat, &repeat->searches[i], &shown);
    }
    if (is_same) {
        const uint64_t count = shown.count;
        (void)(file_write_all(file, &count, sizeof count) &&
               file_write_all(file, shown.ops, shown.count * sizeof *shown.ops));
    }
    op_list_deinit(&shown);
}

/* --- in the parent --- */

/* False: there is no answer. */
static bool take_shown(const struct writing *answer, struct op_list *shown)
{
    struct rest rest = rest_of(answer);
    uint64_t count;
    return rest_take(&rest, &count, sizeof count) && rest_take_ops(&rest, count, shown);
}

bool repeat_shows(const struct repeat *repeat, struct op_list *shown)
{
    struct repeat work = *repeat;
    const struct child_job job = {.work = search_and_answer,
                                  .context = &work,
                                  .duration_ns = repeat->duration_ns,
                                  .is_interruptible = true,
                                  .is_quiet = true};
    struct writing answer;
    struct death death;
    CHECK(repeat->search_count > 0);
    op_list_clear(shown);
    writing_init(&answer);
    const enum child_end end = child_work(&job, &answer, &death);
    const bool is_late = end == CHILD_STOPPED && !interrupt_is_requested();
    const bool is_shown = end == CHILD_DONE ? take_shown(&answer, shown) : !is_late;
    writing_deinit(&answer);
    return is_shown;
}
