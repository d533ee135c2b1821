#include "harness/generate/streaming.h"

#include "harness/base/check.h"

/* "streams", as a number that no other part of a seed uses. */
#define STREAMING_CHANCES UINT64_C(0x0073747265616D73)

enum { ASKS_ELSEWHERE_PERCENT = 20, WAITS_ELSEWHERE_PERCENT = 25 };

void streaming_init(struct streaming *streaming, uint64_t seed)
{
    *streaming = (struct streaming){0};
    random_init(&streaming->random, random_derive(seed, STREAMING_CHANCES));
    streaming->stream_count = 1 + (uint32_t)random_below(&streaming->random, STREAMING_COUNT_MAX);
}

static uint32_t any_stream(struct streaming *streaming)
{
    return (uint32_t)random_below(&streaming->random, streaming->stream_count);
}

static uint32_t choose_stream(struct streaming *streaming, const struct model *model,
                              const struct op *op)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)op->kind);
    const struct block *block = info->has_block ? model_find(model, op->ref) : NULL;
    if (block != NULL) {
        return random_chance(&streaming->random, WAITS_ELSEWHERE_PERCENT, 100)
                   ? any_stream(streaming)
                   : block->stream;
    }
    if (random_chance(&streaming->random, ASKS_ELSEWHERE_PERCENT, 100)) {
        streaming->current = any_stream(streaming);
    }
    return streaming->current;
}

void streaming_place(struct streaming *streaming, const struct scenario_view *view, struct op *op)
{
    CHECK(op->host < view->host_count);
    const struct model *model = view->hosts[op->host];
    const bool is_shared = (op->flags & (OP_SPMD | OP_COLLECTIVE)) != 0;
    if (model_contract(model)->stream_ordered && !is_shared && op->event == OP_NONE &&
        op_kind_info((enum op_kind)op->kind)->has_stream) {
        op_set_stream(op, choose_stream(streaming, model, op));
    }
}
