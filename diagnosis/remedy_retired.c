#include "diagnosis/private/remedy_retired.h"

#include "harness/base/check.h"

#include <stdio.h>
#include <stdlib.h>

size_t remedy_leave_out_retired(const struct remedy_case *given, struct remedy_result *result)
{
    const size_t count = given->ops->count;
    bool *keep = malloc(count + 1);
    CHECK(keep != NULL);
    for (size_t i = 0; i < count; i++) {
        keep[i] = given->ops->ops[i].kind != OP_RETIRE;
    }
    op_list_copy(&result->ops, given->ops);
    op_list_filter(&result->ops, keep);
    free(keep);
    return count - result->ops.count;
}

void remedy_note_retired(struct remedy_result *result, int used, size_t retired_count)
{
    if (retired_count > 0) {
        snprintf(result->note + used, sizeof result->note - (size_t)used,
                 "; retired ranges left out: %zu", retired_count);
    }
}
