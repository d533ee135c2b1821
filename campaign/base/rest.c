#include "campaign/base/rest.h"

#include <string.h>

bool rest_take(struct rest *rest, void *to, size_t length)
{
    if (rest->length < length) {
        return false;
    }
    if (length > 0) {
        memcpy(to, rest->bytes, length);
        rest_skip(rest, length);
    }
    return true;
}

bool rest_take_ops(struct rest *rest, uint64_t count, struct op_list *ops)
{
    if (count > rest->length / sizeof(struct op)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct op op;
        (void)rest_take(rest, &op, sizeof op);
        op_list_append(ops, &op);
    }
    return true;
}

bool rest_take_text(struct rest *rest, uint64_t length, struct writing *text)
{
    if (length > rest->length) {
        return false;
    }
    writing_append_bytes(text, rest->bytes, (size_t)length);
    rest_skip(rest, (size_t)length);
    return true;
}
