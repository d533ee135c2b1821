/* The null target and libhbm as the harness runs them: their calls through its table, and under all
 * checks. */
#include "bench/peers/subjects.h"
#include "harness/base/check.h"
#include "measure/per_op.h"
#include "targets/targets.h"

#include <math.h>
#include <string.h>

struct harnessed {
    const char *target;
    bool is_checked;
};

static bool play_harnessed(const struct peer_subject *subject, const struct peer_list *list,
                           struct played *played)
{
    static const struct measure_limits once = {.repeat_count = 1, .second_count_max = INFINITY};
    const struct harnessed *harnessed = subject->context;
    if (list->workload == NULL) {
        return false;
    }
    struct setup setup;
    const struct measured_target measured = {target_find(harnessed->target), &setup};
    CHECK(measured.target != NULL);
    setup_init(&setup);
    const bool is_null = strcmp(harnessed->target, "null") == 0;
    CHECK(!is_null || setup_set_option(&setup, "slot", "1048576"));
    setup.capacity_bytes = is_null ? list->live_count_max * WORKLOAD_SIZE_BYTES_MAX * 2
                                   : list->capacity_bytes;
    struct measurement result;
    (harnessed->is_checked ? measure_checked : measure_raw)(&measured, list->workload, &once,
                                                            &result);
    played->ns = result.ns_per_op * (double)result.op_count;
    played->refused_count = result.refused_count;
    return result.op_count == list->count - list->fill_count;
}

#define HARNESSED(label, target, is_checked)             \
    {                                                    \
        label, play_harnessed, &(const struct harnessed) \
        {                                                \
            target, is_checked                           \
        }                                                \
    }
const struct peer_subject subject_null = HARNESSED("null", "null", false);
const struct peer_subject subject_null_checked = HARNESSED("null-checked", "null", true);
const struct peer_subject subject_hbm = HARNESSED("hbm", "hbm", false);
const struct peer_subject subject_hbm_checked = HARNESSED("hbm-checked", "hbm", true);
