/* Programs that are not executed again are unloaded after their last execution. */
#include "diagnosis/private/variant.h"
#include "diagnosis/remedy.h"

#include <inttypes.h>

/* A program of the last two steps would have been executed again if the list had gone on. */
static bool is_of_last_steps(const struct remedy_case *given, uint32_t i)
{
    return given->steps.count > 0 && given->ops->count - i <= 2 * (size_t)given->steps.length;
}

/* True if op i is the last that names a program which is never unloaded. */
static bool is_last_use(const struct remedy_case *given, uint32_t i)
{
    const uint32_t root = given->lives.lives[i].root;
    return root != OP_NONE && given->ops->ops[root].kind == OP_LOAD &&
           given->lives.lives[root].last_named == i && given->lives.lives[root].end == OP_NONE;
}

static bool unload_apply(const struct remedy_case *given, uint64_t parameter,
                         struct remedy_result *result)
{
    struct rewrite rewrite;
    uint64_t count = 0;
    (void)parameter;
    rewrite_init(&rewrite, given->ops, &result->ops);
    for (uint32_t i = 0; i < given->ops->count; i++) {
        rewrite_keep(&rewrite, i);
        if (is_last_use(given, i) && !is_of_last_steps(given, i) && i + 1 < given->ops->count) {
            rewrite_add_on(&rewrite, OP_UNLOAD, given->lives.lives[i].root);
            count++;
        }
    }
    rewrite_deinit(&rewrite);
    return remedy_note(result, count, "no program stays loaded after its last execution",
                       "unloaded after their last execution: %" PRIu64, count);
}

const struct remedy remedy_unload = {
    .name = "unload",
    .summary = "programs that never execute again are unloaded",
    .assumes =
        "The last execution of a program in the list is the last one in the job, and the job knows it.",
    .search = REMEDY_EACH,
    .apply = unload_apply,
};
