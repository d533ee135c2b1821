#include "diagnosis/private/own_ops.h"

#include "harness/base/check.h"
#include "harness/base/search.h"

#include <stdlib.h>

void own_ops_init(struct own_ops *own, const struct op_list *ops, uint32_t host)
{
    size_t count = 0;
    for (size_t i = 0; i < ops->count; i++) {
        count += ops->ops[i].host == host;
    }
    *own = (struct own_ops){.ops = calloc(count + 1, sizeof *own->ops)};
    CHECK(own->ops != NULL);
    for (size_t i = 0; i < ops->count; i++) {
        if (ops->ops[i].host == host) {
            own->ops[own->count++] = (uint32_t)i;
        }
    }
    CHECK(own->count == count);
}

void own_ops_deinit(struct own_ops *own)
{
    free(own->ops);
    *own = (struct own_ops){0};
}

size_t own_ops_find(const struct own_ops *own, uint32_t op)
{
    size_t i;
    SEARCH_FIRST(i, 0, own->count, own->ops[i] >= op);
    return i < own->count && own->ops[i] == op ? i : OWN_OP_NONE;
}
