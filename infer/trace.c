#include "infer/trace.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

void trace_init(struct trace *trace)
{
    memset(trace, 0, sizeof *trace);
    trace->asked = OP_NONE;
    op_list_init(&trace->ops);
}

void trace_deinit(struct trace *trace)
{
    op_list_deinit(&trace->ops);
    free(trace->sights);
    trace->sights = NULL;
    trace->sight_capacity = 0;
}

void trace_clear(struct trace *trace)
{
    trace_deinit(trace);
    trace_init(trace);
}

void trace_add_begun(struct trace *trace, const struct op *op)
{
    const size_t count = trace->ops.count;
    trace->sights = array_grown(trace->sights, count, &trace->sight_capacity,
                                sizeof *trace->sights);
    trace->sights[count] = (struct sight){.seen = {.op = (uint32_t)count, .skipped = 1}};
    op_list_append(&trace->ops, op);
}

const struct sight *trace_sight(const struct trace *trace, uint32_t op)
{
    return op < trace->ops.count ? &trace->sights[op] : NULL;
}

const struct sight *trace_asked(const struct trace *trace)
{
    return trace_sight(trace, trace->asked);
}

/* --- as bytes --- */

/* All before the list. */
#define HEAD_BYTES offsetof(struct trace, ops)

void trace_append(const struct trace *trace, struct writing *bytes)
{
    const uint64_t count = trace->ops.count;
    writing_append_bytes(bytes, trace, HEAD_BYTES);
    writing_append_bytes(bytes, &count, sizeof count);
    for (size_t i = 0; i < count; i++) {
        writing_append_bytes(bytes, &trace->ops.ops[i], sizeof trace->ops.ops[i]);
        writing_append_bytes(bytes, &trace->sights[i], sizeof trace->sights[i]);
    }
}

/* Takes size bytes at *at; false: fewer are left. */
static bool take_bytes(void *to, size_t size, const char **at, size_t *left)
{
    if (size > *left) {
        return false;
    }
    memcpy(to, *at, size);
    *at += size;
    *left -= size;
    return true;
}

size_t trace_read(struct trace *trace, const char *bytes, size_t length)
{
    const char *at = bytes;
    size_t left = length;
    uint64_t count;
    if (!take_bytes(trace, HEAD_BYTES, &at, &left) ||
        !take_bytes(&count, sizeof count, &at, &left)) {
        return 0;
    }
    op_list_clear(&trace->ops);
    for (uint64_t i = 0; i < count; i++) {
        struct op op;
        trace->sights = array_grown(trace->sights, i, &trace->sight_capacity,
                                    sizeof *trace->sights);
        if (!take_bytes(&op, sizeof op, &at, &left) ||
            !take_bytes(&trace->sights[i], sizeof trace->sights[i], &at, &left)) {
            return 0;
        }
        op_list_append(&trace->ops, &op);
    }
    return length - left;
}
