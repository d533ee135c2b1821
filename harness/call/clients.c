#include "harness/call/clients.h"

#include "harness/base/check.h"

#include <stdlib.h>
#include <string.h>

struct named {
    struct block block;
    bool is_made;
    uint8_t host;
    uint32_t user_count;    /* calls under way that use it */
    uint32_t ender_count;   /* that end its handle: 0 or 1 */
    uint32_t any_count;     /* of either */
    uint32_t release_count; /* that give a hold back; they may meet a free */
};
struct clients {
    struct named *named; /* by op; count of them */
    size_t count;
    uint64_t refused_lanes; /* bit for each lane whose last call was answered out of memory ... */
    struct op refused[OP_LANE_COUNT_MAX]; /* ... with what it asked for */
};
static_assert(OP_LANE_COUNT_MAX <= 64, "a bit for each lane");

struct clients *clients_create(size_t op_count)
{
    struct clients *clients = malloc(sizeof *clients);
    CHECK(clients != NULL);
    clients->named = calloc(op_count + 1, sizeof *clients->named);
    CHECK(clients->named != NULL);
    clients->count = op_count;
    clients->refused_lanes = 0;
    return clients;
}

void clients_destroy(struct clients *clients)
{
    if (clients != NULL) {
        free(clients->named);
        free(clients);
    }
}

void clients_clear(struct clients *clients)
{
    memset(clients->named, 0, clients->count * sizeof *clients->named);
    clients->refused_lanes = 0;
}

static struct named *find_client_block(const struct clients *clients, uint32_t op)
{
    return op < clients->count && clients->named[op].is_made ? &clients->named[op] : NULL;
}

const struct block *clients_block(const struct clients *clients, uint8_t host, uint32_t op)
{
    const struct named *named = find_client_block(clients, op);
    return named == NULL || named->host != host ? NULL : &named->block;
}

static bool names_a_block(const struct op *op)
{
    const struct op_kind_info *info = op_kind_info(op->kind);
    return info->has_block || info->has_program;
}

const uint32_t *clients_gate(const struct clients *clients, const struct op *op)
{
    const struct named *named = names_a_block(op) ? find_client_block(clients, op->ref) : NULL;
    if (named == NULL || op->kind == OP_RELEASE) {
        return NULL;
    }
    return op_ends_handle(op) ? &named->any_count : &named->ender_count;
}

bool clients_may_begin(const struct clients *clients, const struct op *op)
{
    const struct named *named = op->kind == OP_RELEASE ? find_client_block(clients, op->ref) : NULL;
    return named == NULL || named->block.hold_count > named->release_count;
}

/* Adds or takes away the call's part in what it names. */
static void count_user(struct clients *clients, const struct op *op, uint32_t change)
{
    struct named *named = names_a_block(op) ? find_client_block(clients, op->ref) : NULL;
    if (named == NULL) {
        return;
    }
    if (op->kind == OP_RELEASE) {
        named->release_count += change;
        return;
    }
    named->any_count += change;
    *(op_ends_handle(op) ? &named->ender_count : &named->user_count) += change;
}

void clients_begin(struct clients *clients, const struct op *op)
{
    count_user(clients, op, 1);
}

static void note_new_block(struct clients *clients, const struct call *call, enum block_kind kind)
{
    CHECK(call->number < clients->count);
    clients->named[call->number] = (struct named){
        .is_made = true,
        .host = call->op.host,
        .block = {.handle = call->block.handle,
                  .size_bytes = call->block.size_bytes,
                  .kind = (uint8_t)kind,
                  .op = call->number,
                  .is_known = true},
    };
}

static void note_answer(struct clients *clients, const struct call *call)
{
    struct named *named = names_a_block(&call->op) ? find_client_block(clients, call->op.ref)
                                                   : NULL;
    if (named != NULL && op_ends_handle(&call->op)) {
        named->block.is_known = false;
    }
    switch ((enum op_kind)call->op.kind) {
    case OP_ALLOC:
        note_new_block(clients, call, BLOCK_BUFFER);
        return;
    case OP_OUTPUT:
    case OP_DONATE:
        note_new_block(clients, call, BLOCK_OUTPUT);
        return;
    case OP_LOAD:
        note_new_block(clients, call, BLOCK_PROGRAM);
        return;
    case OP_HOLD:
        named->block.hold_count++;
        return;
    case OP_RELEASE:
        named->block.hold_count--;
        return;
    default:
        return;
    }
}

static void note_refusal(struct clients *clients, const struct call *call)
{
    const uint8_t lane = call->op.lane;
    const bool is_refused = !call->skipped && call->result == TARGET_NO_MEMORY;
    CHECK(lane < OP_LANE_COUNT_MAX);
    clients->refused_lanes &= ~(UINT64_C(1) << lane);
    if (is_refused) {
        clients->refused_lanes |= UINT64_C(1) << lane;
        clients->refused[lane] = call->op;
    }
}

bool clients_were_refused(const struct clients *clients, const struct op *op)
{
    CHECK(op->lane < OP_LANE_COUNT_MAX);
    return (clients->refused_lanes >> op->lane & 1) != 0 &&
           op_asks_same(&clients->refused[op->lane], op);
}

void clients_end(struct clients *clients, const struct call *call)
{
    count_user(clients, &call->op, UINT32_MAX);
    note_refusal(clients, call);
    if (!call->skipped && call->result == TARGET_OK) {
        note_answer(clients, call);
    }
}
