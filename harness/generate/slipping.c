#include "harness/generate/slipping.h"

#include "harness/base/check.h"

#include <stdlib.h>

/* --- retrying --- */

/* "retrying", as a number that no other part of a seed uses. */
#define RETRYING_STREAM UINT64_C(0x7265747279696E67)

void retrying_init(struct retrying *retrying, uint64_t seed)
{
    random_init(&retrying->random, random_derive(seed, RETRYING_STREAM));
}

bool retrying_next(struct retrying *retrying, const struct op *refused, struct op *op)
{
    CHECK(op_kind_info((enum op_kind)refused->kind)->can_be_refused);
    if ((refused->flags & (OP_RETRY | OP_SPMD | OP_COLLECTIVE)) != 0 ||
        !random_chance(&retrying->random, 1, RETRYING_PERIOD)) {
        return false;
    }
    *op = *refused;
    op->flags |= OP_RETRY;
    return true;
}

/* --- sleeping --- */

/* "sleeping", as a number that no other part of a seed uses. */
#define SLEEPING_STREAM UINT64_C(0x736C656570696E67)

void sleeping_init(struct sleeping *sleeping, const struct fault_options *options, uint64_t seed)
{
    *sleeping = (struct sleeping){.fault_kinds = options->kinds};
    random_init(&sleeping->random, random_derive(seed, SLEEPING_STREAM));
}

static struct op make_fault(const struct sleeping *sleeping, uint64_t nth)
{
    struct op op = op_make(OP_FAULT);
    op.host = sleeping->host;
    op.tag = sleeping->fault;
    op.size_bytes = nth;
    return op;
}

/* The fault that the next sleep or wake meets.  False: it meets none. */
static bool draw_fault(struct sleeping *sleeping, struct op *op)
{
    static const enum fault_kind faults[] = {FAULT_COPY, FAULT_COPY, FAULT_HOST_MEMORY, FAULT_ANY};
    const enum fault_kind fault = faults[random_below(&sleeping->random, 4)];
    const uint64_t nth = random_between(&sleeping->random, 1, SLEEPING_NTH_MAX);
    if ((sleeping->fault_kinds >> fault & 1u) == 0 ||
        !random_chance(&sleeping->random, SLEEPING_REFUSED_PERCENT, 100)) {
        return false;
    }
    sleeping->fault = (uint8_t)fault;
    sleeping->is_armed = sleeping->is_next = true;
    *op = make_fault(sleeping, nth);
    return true;
}

/* The sleep or wake, or before it the fault that it meets. */
static struct op make_next(struct sleeping *sleeping, enum op_kind kind)
{
    struct op op = op_make(kind);
    op.host = sleeping->host;
    if (!sleeping->is_next && draw_fault(sleeping, &op)) {
        return op;
    }
    sleeping->is_next = false;
    sleeping->has_woken = kind == OP_WAKE;
    sleeping->is_wanted = false;
    return op;
}

/* Ends what is in use, one event after the other.  False: a block that is held while it dies stays.
 */
static bool make_idle(struct sleeping *sleeping, const struct model *model, struct op *op)
{
    if (model_event_count(model) == 0) {
        sleeping->is_wanted = false;
        return false;
    }
    *op = op_make(OP_COMPLETE);
    op->event = model_event_op(model, 0);
    op->host = sleeping->host;
    return true;
}

static void draw_wish(struct sleeping *sleeping, const struct scenario_view *view)
{
    if (sleeping->has_woken) {
        sleeping->is_wanted = random_chance(&sleeping->random, SLEEPING_AGAIN_PERCENT, 100);
        sleeping->has_woken = false;
    } else if (!sleeping->is_wanted) {
        sleeping->host = (uint8_t)random_below(&sleeping->random, view->host_count);
        sleeping->is_wanted = random_chance(
            &sleeping->random, 1,
            SLEEPING_PERIOD + (uint32_t)model_live_count(view->hosts[sleeping->host]));
        sleeping->waited_count = 0;
    }
}

bool sleeping_next(struct sleeping *sleeping, const struct scenario_view *view, struct op *op)
{
    CHECK(view->host_count >= 1);
    const struct model *model = view->hosts[sleeping->host];
    if (sleeping->is_off || model_contract(model)->sleeps == SLEEP_NONE) {
        return false;
    }
    if (model_is_asleep(model)) {
        *op = make_next(sleeping, OP_WAKE);
        return true;
    }
    if (sleeping->is_armed && !sleeping->is_next) {
        sleeping->is_armed = false;
        *op = make_fault(sleeping, 0);
        return true;
    }
    draw_wish(sleeping, view);
    model = view->hosts[sleeping->host];
    if (sleeping->is_wanted && model_is_idle(model)) {
        *op = make_next(sleeping, OP_SLEEP);
        return true;
    }
    return sleeping->is_wanted && sleeping->waited_count++ >= SLEEPING_PATIENCE &&
           make_idle(sleeping, model, op);
}

/* --- recording --- */

/* "recording", as a number that no other part of a seed uses. */
#define RECORDING_CHANCES UINT64_C(0x7265636F7264696E)

void recording_init(struct open_recording *recording, uint64_t seed)
{
    random_init(&recording->random, random_derive(seed, RECORDING_CHANCES));
}

static bool make_drop(struct open_recording *recording, const struct model *model, struct op *op)
{
    const size_t count = model_recording_count(model);
    const bool is_due = count > 0 &&
                        random_chance(&recording->random, (uint32_t)count, RECORDING_DROP_PERIOD);
    if (!is_due && count < RECORDING_COUNT_MAX) {
        return false;
    }
    *op = op_make(OP_RECORD_DROP);
    op->ref = model_recording(model, (size_t)random_below(&recording->random, count));
    return true;
}

bool recording_next(struct open_recording *recording, const struct scenario_view *view,
                    struct op *op)
{
    CHECK(view->host_count >= 1);
    if (!model_contract(view->hosts[0])->records) {
        return false;
    }
    const uint8_t host = (uint8_t)random_below(&recording->random, view->host_count);
    const struct model *model = view->hosts[host];
    if (model_open_recording(model) != OP_NONE) {
        *op = op_make(OP_RECORD_END);
        op->host = host;
        return random_chance(&recording->random, 1, RECORDING_LENGTH);
    }
    if (!make_drop(recording, model, op)) {
        *op = op_make(OP_RECORD);
        op->host = host;
        return random_chance(&recording->random, 1, RECORDING_PERIOD);
    }
    op->host = host;
    return true;
}

/* --- streaming --- */

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

/* --- given --- */

void given_init(struct given *given, const struct op_list *ops)
{
    const size_t count = ops == NULL ? 0 : ops->count;
    *given = (struct given){.ops = ops, .numbers = calloc(count + 1, sizeof *given->numbers)};
    CHECK(given->numbers != NULL);
}

void given_deinit(struct given *given)
{
    free(given->numbers);
    *given = (struct given){0};
}

bool given_next(struct given *given, uint32_t op_number, struct op *op)
{
    if (given->ops == NULL || given->next == given->ops->count) {
        return false;
    }
    *op = given->ops->ops[given->next];
    op_renumber(op, given->numbers, given->next);
    given->numbers[given->next++] = op_number;
    return true;
}
