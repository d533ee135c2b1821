/* The rest of some bytes from a file or another process; callers take bytes from its front. */
#ifndef CAMPAIGN_BASE_REST_H
#define CAMPAIGN_BASE_REST_H

#include "harness/base/writing.h"
#include "harness/op/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* length bytes; they belong to somebody else. */
struct rest {
    const char *bytes;
    size_t length;
};
static inline struct rest rest_of(const struct writing *bytes)
{
    return (struct rest){bytes->bytes, bytes->length};
}

/* Takes length bytes, of which there are as many, and forgets them. */
static inline void rest_skip(struct rest *rest, size_t length)
{
    rest->bytes += length;
    rest->length -= length;
}
/* Takes length bytes.  False: there are fewer, and nothing is taken. */
bool rest_take(struct rest *rest, void *to, size_t length);
/* Like rest_take(), for count ops, which are appended. */
bool rest_take_ops(struct rest *rest, uint64_t count, struct op_list *ops);
/* Like rest_take(), for bytes, which are appended. */
bool rest_take_text(struct rest *rest, uint64_t length, struct writing *text);

#endif
