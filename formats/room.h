/* Memory for millions of ops.  Faults of small pages would be a fifth of what it costs to import a line. */
#ifndef FORMATS_ROOM_H
#define FORMATS_ROOM_H

#include "formats/formats.h"

/* Asks for huge pages where an array of so many bytes has them inside; nothing depends on the answer. */
void room_advise(void *memory, size_t bytes);

/* Makes room for count ops in all, if there is host memory; with more, or without, the list grows as ever.  Memory
 * that is not used is not touched. */
void room_for_ops(struct op_list *ops, size_t count);

/* op_list_append(), without a call where there is room. */
static inline void room_append(struct op_list *ops, const struct op *op)
{
    if (ops->count < ops->capacity) {
        ops->ops[ops->count++] = *op;
    } else {
        op_list_append(ops, op);
    }
}

#endif
