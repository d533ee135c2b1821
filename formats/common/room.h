/* Memory for millions of ops.  Faults of small pages would be a fifth of what it costs to import a
 * line. */
#ifndef FORMATS_COMMON_ROOM_H
#define FORMATS_COMMON_ROOM_H

#include "harness/op/op.h"

/* Asks for huge pages where an array of so many bytes has them inside; nothing depends on the
 * answer. */
void room_advise(void *memory, size_t bytes);

/* Memory of so many bytes, of which nothing is touched, with huge pages where it is large.  The
 * caller frees it. */
void *room_make(size_t bytes);

/* Makes room for count ops in all, if there is host memory; with more, or without, the list grows
 * as ever.  Memory that is not used is not touched. */
void room_for_ops(struct op_list *ops, size_t count);

/* The list's next op, which the caller writes whole, in place: one that is built elsewhere and
 * copied waits for its own bytes.  Without a call where there is room. */
static inline struct op *room_next(struct op_list *ops)
{
    static const struct op unwritten;
    if (ops->count == ops->capacity) {
        op_list_append(ops, &unwritten);
        return &ops->ops[ops->count - 1];
    }
    return &ops->ops[ops->count++];
}

#endif
