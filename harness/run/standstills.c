#include "harness/run/standstills.h"

#include "harness/base/check.h"
#include "harness/call/call.h"
#include "harness/call/host.h"
#include "harness/device/device.h"
#include "harness/oracle/oracle.h"
#include "harness/rules/judge_request.h"

#include <stdlib.h>
#include <string.h>

/* A question of ours is no verdict: it need not be answered at any price. */
#define NODES_MAX (ORACLE_NODES_DEFAULT / 16)

struct waiter {
    struct oom_request request; /* the last one that was refused */
    bool is_waiting, has_asked_again;
};

struct standstill_watch {
    struct standstills standstills;
    uint8_t tags[STANDSTILL_CLIENT_MAX]; /* client_count of them */
    uint8_t clients[OP_TAG_COUNT];       /* by tag; client_count: no client */
    struct waiter *waiters;              /* [host_count][client_count] */
    bool is_told[OP_HOST_COUNT_MAX];     /* this standstill is */
    uint32_t since[OP_HOST_COUNT_MAX];
    struct oom oom; /* scratch */
    uint8_t client_count;
};

struct standstill_watch *standstill_watch_create(const struct setup *setup)
{
    unsigned count = 0;
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        count += setup_is_client(setup, (uint8_t)tag);
    }
    if (count < 2 || count > STANDSTILL_CLIENT_MAX) {
        return NULL;
    }
    struct standstill_watch *watch = calloc(1, sizeof *watch);
    CHECK(watch != NULL);
    memset(watch->clients, (int)count, sizeof watch->clients);
    for (unsigned tag = 0; tag < OP_TAG_COUNT; tag++) {
        if (setup_is_client(setup, (uint8_t)tag)) {
            watch->clients[tag] = watch->client_count;
            watch->tags[watch->client_count++] = (uint8_t)tag;
        }
    }
    watch->waiters = calloc((size_t)setup->host_count * count, sizeof *watch->waiters);
    CHECK(watch->waiters != NULL);
    return watch;
}

void standstill_watch_destroy(struct standstill_watch *watch)
{
    if (watch != NULL) {
        oom_deinit(&watch->oom);
        free(watch->waiters);
        free(watch);
    }
}

static struct waiter *waiters_of(const struct standstill_watch *watch, const struct host *host)
{
    return &watch->waiters[(size_t)host->index * watch->client_count];
}

/* --- could one of them go on? --- */

enum { GIVES_NOBODY = -1, GIVES_EVERYBODY = -2 };

/* The blocks that others than the client have: of all of them, or of the one that gives. */
static void drop_given(struct standstill_watch *watch, const struct op_list *ops, int client,
                       int gives)
{
    struct oom *oom = &watch->oom;
    size_t kept = 0;
    for (size_t i = 0; i < oom->block_count; i++) {
        const uint32_t op = oom->blocks[i].op;
        const int owner = op < ops->count ? watch->clients[ops->ops[op].tag] : watch->client_count;
        const bool is_others = owner != watch->client_count && owner != client;
        if (!is_others || (gives != GIVES_EVERYBODY && owner != gives)) {
            oom->blocks[kept++] = oom->blocks[i];
        }
    }
    oom->block_count = kept;
}

/* Asks if the client's request fits then: a refusal would be premature. */
static enum standstill_way ask(struct standstill_watch *watch, const struct host *host,
                               const struct op_list *ops, struct oracle *oracle, int client,
                               int gives)
{
    struct verdict verdict = {0};
    oom_take(&watch->oom, host->model, &waiters_of(watch, host)[client].request, 0);
    drop_given(watch, ops, client, gives);
    oracle_judge(oracle, &watch->oom, NODES_MAX, &verdict);
    return verdict.kind == VERDICT_PREMATURE   ? STANDSTILL_ORDER
           : verdict.kind == VERDICT_JUSTIFIED ? STANDSTILL_TOO_SMALL
                                               : STANDSTILL_UNKNOWN;
}

/* Finds who has to give way, if one is enough. */
static void find_giver(struct standstill_watch *watch, const struct host *host,
                       const struct op_list *ops, struct oracle *oracle, int client,
                       struct standstill *found)
{
    found->fits_now = ask(watch, host, ops, oracle, client, GIVES_NOBODY) == STANDSTILL_ORDER;
    for (int i = 0; i < watch->client_count && !found->fits_now; i++) {
        if (i != client && ask(watch, host, ops, oracle, client, i) == STANDSTILL_ORDER) {
            found->gives_way = watch->tags[i];
            return;
        }
    }
}

/* Memory that is kept for others, and blocks in host memory, are somebody's whom nobody knows. */
static void find_way(struct standstill_watch *watch, const struct host *host,
                     const struct op_list *ops, struct oracle *oracle, struct standstill *found)
{
    const bool is_known = model_kept_count(host->model) == 0 &&
                          model_absent_count(host->model) == 0 &&
                          host->contract.limit == TARGET_LIMIT_DEVICE &&
                          !(host->contract.regions.grows && device_pool_of(host->device) != NULL);
    found->way = is_known ? STANDSTILL_TOO_SMALL : STANDSTILL_UNKNOWN;
    for (int i = 0; i < watch->client_count && is_known; i++) {
        const enum standstill_way way = ask(watch, host, ops, oracle, i, GIVES_EVERYBODY);
        if (way == STANDSTILL_ORDER) {
            const struct oom_request *request = &waiters_of(watch, host)[i].request;
            found->way = STANDSTILL_ORDER;
            found->client = watch->tags[i];
            found->requested_bytes = request->asked_bytes;
            find_giver(watch, host, ops, oracle, i, found);
            return;
        }
        found->way = way == STANDSTILL_UNKNOWN ? STANDSTILL_UNKNOWN : found->way;
    }
}

/* --- who waits --- */

static bool all_have_asked_again(const struct standstill_watch *watch, const struct host *host)
{
    const struct waiter *waiters = waiters_of(watch, host);
    for (uint8_t i = 0; i < watch->client_count; i++) {
        if (!waiters[i].is_waiting || !waiters[i].has_asked_again) {
            return false;
        }
    }
    return true;
}

/* From here on each has to ask once more. */
static void begin_round(struct standstill_watch *watch, const struct host *host, uint32_t number)
{
    struct waiter *waiters = waiters_of(watch, host);
    for (uint8_t i = 0; i < watch->client_count; i++) {
        waiters[i].has_asked_again = false;
    }
    watch->is_told[host->index] = false;
    watch->since[host->index] = number;
}

static void hear_answer(struct standstill_watch *watch, const struct host *host,
                        const struct call *call, uint8_t client)
{
    struct waiter *waiter = &waiters_of(watch, host)[client];
    const bool was_waiting = waiter->is_waiting;
    waiter->is_waiting = call->result == TARGET_NO_MEMORY;
    if (!waiter->is_waiting || !was_waiting) {
        begin_round(watch, host, call->number);
    }
    waiter->has_asked_again = waiter->is_waiting && was_waiting;
    if (waiter->is_waiting) {
        waiter->request = judge_request(host, call);
    }
}

static void note(struct standstills *standstills, const struct standstill *found)
{
    if (standstills->count == STANDSTILL_COUNT_MAX) {
        standstills->more++;
        return;
    }
    standstills->standstills[standstills->count++] = *found;
}

/* A call of a client that was granted or refused; what the harness asks again by itself, with time
 * pinned, says nothing about who waits. */
static bool is_heard(const struct standstill_watch *watch, const struct call *call)
{
    const struct op_kind_info *info = op_kind_info((enum op_kind)call->op.kind);
    return !call->skipped && !call->is_pinned && info->can_be_refused && info->has_tag &&
           watch->clients[call->op.tag] < watch->client_count &&
           (call->result == TARGET_OK || call->result == TARGET_NO_MEMORY);
}

bool standstill_watch_hear(struct standstill_watch *watch, const struct host *host,
                           const struct call *call, const struct op_list *ops,
                           struct oracle *oracle, struct standstill *found)
{
    if (!is_heard(watch, call)) {
        return false;
    }
    hear_answer(watch, host, call, watch->clients[call->op.tag]);
    if (watch->is_told[host->index] || !all_have_asked_again(watch, host)) {
        return false;
    }
    watch->is_told[host->index] = true;
    *found = (struct standstill){.host = host->index,
                                 .client_count = watch->client_count,
                                 .since = watch->since[host->index],
                                 .told = call->number,
                                 .gives_way = STANDSTILL_NOBODY,
                                 .client = STANDSTILL_NOBODY};
    find_way(watch, host, ops, oracle, found);
    note(&watch->standstills, found);
    return true;
}

const struct standstills *standstill_watch_read(const struct standstill_watch *watch)
{
    return &watch->standstills;
}
