/* Runs that lie about slide, in the place of the true ones (the linker's --wrap): LIAR names the
 * lie, and without it all is as it was.  A fuzz target that holds contracts against each other must
 * notice. */
#include "harness/oracle/exhaustive.h"
#include "harness/run/run.h"
#include "tests/fuzz/fuzz_lying.h"

WRAPPED(const struct observation *, run_observation, const struct run *run);
WRAPPED(enum verdict_kind, exhaustive_judge, const struct oom *oom);

const struct observation *__wrap_run_observation(const struct run *run)
{
    static struct observation seen;
    const char *defrag = setup_option(run_setup(run), "defrag");
    seen = *__real_run_observation(run);
    const struct op_list *ops = run_ops(run);
    const bool is_alloc = seen.op < ops->count && ops->ops[seen.op].kind == OP_ALLOC &&
                          seen.result == TARGET_OK;
    if (defrag == NULL || strcmp(defrag, "slide") != 0 || !is_alloc) {
        return &seen;
    }
    seen.result = is_lying("room")      ? TARGET_NO_MEMORY
                  : is_lying("invalid") ? TARGET_INVALID
                                        : seen.result;
    seen.bytes_in_use += is_lying("in_use") ? 512 : 0;
    seen.bytes_reserved += is_lying("reserved") ? 512 : 0;
    return &seen;
}

enum verdict_kind __wrap_exhaustive_judge(const struct oom *oom)
{
    const enum verdict_kind kind = __real_exhaustive_judge(oom);
    return is_lying("exhaustive") && kind == VERDICT_JUSTIFIED ? VERDICT_PREMATURE : kind;
}
