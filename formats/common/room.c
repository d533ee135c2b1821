#include "formats/common/room.h"

#include <stdint.h>
#include <stdlib.h>

void room_for_ops(struct op_list *ops, size_t count)
{
    if (count <= ops->capacity || count > SIZE_MAX / sizeof *ops->ops) {
        return;
    }
    struct op *grown = realloc(ops->ops, count * sizeof *ops->ops);
    if (grown != NULL) {
        ops->ops = grown;
        ops->capacity = count;
    }
}
