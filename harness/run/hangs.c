#include "harness/run/hangs.h"

#include "harness/base/check.h"
#include "harness/base/often.h"
#include "harness/call/call.h"
#include "harness/call/host.h"
#include "harness/device/collectives.h"
#include "harness/device/timeline.h"

#include <stdlib.h>
#include <string.h>

/* The state of a host so far; ops are OP_NONE where there was none. */
struct hang_host {
    uint32_t last_op, last_execution, oom_op;
    uint32_t last_kept; /* the last op that does more than free memory or let time pass */
    uint32_t gap_max;   /* ops of others between two of its own, at most */
    uint64_t steps, oom_step;
};

struct hang_entry {
    struct hang hang;
    uint64_t event, other_event; /* that began this collective, and the other one */
    uint64_t last_event;         /* that began the last one which is counted in hang.again */
    uint32_t last_op;            /* of the missing host when this was noted */
    bool is_mutual;              /* ORDER: the missing host waited in vain, too */
};

struct hang_watch {
    const struct setup *setup;
    unsigned step_tag;
    bool has_steps;
    struct hang_host hosts[OP_HOST_COUNT_MAX];
    struct hang_entry entries[HANG_COUNT_MAX]; /* count of them */
    size_t count;
    uint64_t more;
};

const char *hang_cause_name(enum hang_cause cause)
{
    static const char *const names[] = {"out_of_memory", "order",   "elsewhere",
                                        "behind",        "no_word", "list_ends"};
    CHECK(cause < HANG_CAUSE_COUNT);
    return names[cause];
}

struct hang_watch *hang_watch_create(const struct setup *setup)
{
    struct hang_watch *watch = calloc(1, sizeof *watch);
    CHECK(watch != NULL);
    watch->setup = setup;
    watch->step_tag = setup_tag_named(setup, HANG_STEP_PROGRAM);
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        watch->hosts[i] = (struct hang_host){
            .last_op = OP_NONE, .last_execution = OP_NONE, .oom_op = OP_NONE, .last_kept = OP_NONE};
    }
    return watch;
}

void hang_watch_destroy(struct hang_watch *watch)
{
    free(watch);
}

static uint64_t bit_of(uint32_t host)
{
    return UINT64_C(1) << host;
}

/* --- what hosts do --- */

static bool is_step(const struct hang_watch *watch, const struct op_list *ops, const struct op *op)
{
    return op->kind == OP_EXECUTE && op->ref < ops->count && ops->ops[op->ref].kind == OP_LOAD &&
           ops->ops[op->ref].tag == watch->step_tag;
}

/* True if a host that gives up does this, too. */
static bool is_cleaning_up(enum op_kind kind)
{
    switch (kind) {
    case OP_FREE:
    case OP_FREE_AFTER:
    case OP_RELEASE:
    case OP_UNLOAD:
    case OP_COMPLETE:
    case OP_ADVANCE:
    case OP_REPORT:
    case OP_FAULT:
        return true;
    default:
        return false;
    }
}

static void remove_entry(struct hang_watch *watch, size_t index)
{
    CHECK(index < watch->count);
    memmove(&watch->entries[index], &watch->entries[index + 1],
            (--watch->count - index) * sizeof watch->entries[0]);
}

/* Joins hangs that came after all: it tells one per host and cause, and counts the others. */
static void join_settled(struct hang_watch *watch, size_t index)
{
    const struct hang *settled = &watch->entries[index].hang;
    for (size_t i = 0; i < watch->count; i++) {
        struct hang *other = &watch->entries[i].hang;
        if (i != index && other->missing == settled->missing && other->cause == settled->cause &&
            other->came != OP_NONE) {
            other->again += settled->again + 1;
            remove_entry(watch, index);
            return;
        }
    }
}

/* The host joined one of the group: perhaps one that others waited for. */
static void hear_join(struct hang_watch *watch, const struct collectives *collectives,
                      uint32_t number, const struct op *op)
{
    for (size_t i = watch->count; i-- > 0;) {
        struct hang_entry *entry = &watch->entries[i];
        if (entry->hang.missing != op->host || entry->hang.group != op->group ||
            entry->hang.came != OP_NONE) {
            continue;
        }
        const struct collective *open = collectives_open_of(collectives, entry->event);
        if (open == NULL || (open->joined & bit_of(op->host)) != 0) {
            entry->hang.came = number;
            join_settled(watch, i);
        }
    }
}

SELDOM void hang_watch_hear(struct hang_watch *watch, const struct collectives *collectives,
                            const struct op_list *ops, const struct observation *observation)
{
    if (observation->op >= ops->count || observation->skipped != 0) {
        return;
    }
    const struct op *op = &ops->ops[observation->op];
    struct hang_host *host = &watch->hosts[op->host];
    const uint32_t before = host->last_op == OP_NONE ? 0 : host->last_op;
    const uint32_t gap = observation->op - before;
    host->gap_max = gap > host->gap_max ? gap : host->gap_max;
    host->last_op = observation->op;
    if (observation->result == TARGET_NO_MEMORY) {
        host->oom_op = observation->op;
        host->oom_step = host->steps;
    } else if (!is_cleaning_up((enum op_kind)op->kind)) {
        host->last_kept = observation->op;
    }
    if (op->kind != OP_EXECUTE || observation->result != TARGET_OK) {
        return;
    }
    host->last_execution = observation->op;
    if (is_step(watch, ops, op)) {
        host->steps++;
        watch->has_steps = true;
    }
    if ((op->flags & OP_COLLECTIVE) != 0) {
        hear_join(watch, collectives, observation->op, op);
    }
}

/* --- who waits --- */

static uint64_t event_that_began(const struct collective *collective)
{
    uint64_t event = UINT64_MAX;
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        if ((collective->joined & bit_of(i)) != 0 && collective->hosts[i].event < event) {
            event = collective->hosts[i].event;
        }
    }
    return event;
}

static uint64_t step_at(const struct hang_watch *watch, const struct op_list *ops, uint32_t op)
{
    const uint8_t host = ops->ops[op].host;
    uint64_t step = watch->hosts[host].steps;
    for (size_t i = ops->count; i-- > op;) {
        step -= step > 0 && ops->ops[i].host == host && is_step(watch, ops, &ops->ops[i]);
    }
    return step;
}

static bool is_after(uint32_t op, uint32_t other)
{
    return op != OP_NONE && (other == OP_NONE || op > other);
}

/* The first open collective in which the host waits by its own clock, but for this one. */
static const struct collective *find_other(const struct wait_place *place, uint32_t host,
                                           const struct collective *but)
{
    for (size_t i = 0; i < collectives_open_count(place->collectives); i++) {
        const struct collective *open = collectives_open_at(place->collectives, i);
        if (open != but && (open->joined & bit_of(host)) != 0 &&
            timeline_state(place->hosts[host].timeline, open->hosts[host].event) == EVENT_PENDING) {
            return open;
        }
    }
    return NULL;
}

/* True if those that the collective waits for wait at last for the host. */
static bool waits_for(const struct wait_place *place, const struct collective *collective,
                      uint32_t host)
{
    uint64_t reached = 0, to_visit = collective->members & ~collective->joined;
    while (to_visit != 0 && (to_visit & bit_of(host)) == 0) {
        const uint32_t next = (uint32_t)__builtin_ctzll(to_visit);
        CHECK(next < place->host_count);
        reached |= bit_of(next);
        const struct collective *other = find_other(place, next, collective);
        to_visit |= other == NULL ? 0 : other->members & ~other->joined;
        to_visit &= ~reached;
    }
    return to_visit != 0;
}

static void find_cause(const struct hang_watch *watch, const struct wait_place *place,
                       const struct collective *collective, uint32_t waiter,
                       struct hang_entry *entry)
{
    struct hang *hang = &entry->hang;
    const struct hang_host *missing = &watch->hosts[hang->missing];
    hang->cause_step = missing->oom_step;
    if (is_after(missing->oom_op, missing->last_execution)) {
        hang->cause = HANG_OOM;
        hang->cause_op = missing->oom_op;
        return;
    }
    const struct collective *other = find_other(place, hang->missing, collective);
    if (other == NULL) {
        hang->cause = HANG_BEHIND;
        hang->cause_op = missing->last_op;
        return;
    }
    hang->cause = waits_for(place, other, waiter) ? HANG_ORDER : HANG_ELSEWHERE;
    hang->cause_op = (uint32_t)(other->hosts[hang->missing].event - 1);
    hang->other_group = other->group;
    hang->other_missing = other->members & ~other->joined;
    entry->other_event = event_that_began(other);
}

/* One collective more in which hosts wait for the same one; those begin in ascending order. */
static void count_again(struct hang_entry *entry, uint64_t event)
{
    if (event > entry->last_event) {
        entry->hang.again++;
        entry->last_event = event;
    }
}

/* True if what is to be told of it is told already. */
static bool is_known(struct hang_watch *watch, const struct hang_entry *now, uint32_t waiter)
{
    for (size_t i = 0; i < watch->count; i++) {
        struct hang_entry *entry = &watch->entries[i];
        struct hang *hang = &entry->hang;
        if (entry->event == now->event && hang->missing == now->hang.missing) {
            hang->waiting |= bit_of(waiter);
            return true;
        }
        if (hang->cause == HANG_ORDER && hang->missing == waiter &&
            entry->other_event == now->event && (hang->waiting & bit_of(now->hang.missing)) != 0) {
            entry->is_mutual = true;
            return true;
        }
        const bool is_same = now->hang.cause == HANG_OOM ? hang->cause_op == now->hang.cause_op
                                                         : hang->came == OP_NONE;
        if (hang->missing == now->hang.missing && hang->cause == now->hang.cause && is_same) {
            count_again(entry, now->event);
            return true;
        }
    }
    return false;
}

static void note_missing(struct hang_watch *watch, const struct wait_place *place,
                         const struct collective *collective, const struct wait *wait,
                         uint8_t missing)
{
    const struct op_list *ops = place->ops;
    struct hang_entry entry = {.event = event_that_began(collective),
                               .last_op = watch->hosts[missing].last_op};
    struct hang *hang = &entry.hang;
    entry.last_event = entry.event;
    hang->group = collective->group;
    hang->waiting = bit_of(wait->host);
    hang->since = (uint32_t)(entry.event - 1);
    hang->until = wait->until;
    hang->is_in_request = wait->until < ops->count &&
                          op_kind_info((enum op_kind)ops->ops[wait->until].kind)->can_be_refused;
    hang->waited_ns = wait->until == OP_NONE ? UINT64_MAX : wait->until_ns - wait->since_ns;
    hang->missing = missing;
    hang->step = watch->hosts[missing].steps;
    hang->behind = watch->hosts[wait->host].steps > hang->step
                       ? watch->hosts[wait->host].steps - hang->step
                       : 0;
    hang->came = OP_NONE;
    find_cause(watch, place, collective, wait->host, &entry);
    if (is_known(watch, &entry, wait->host)) {
        return;
    }
    if (watch->count == HANG_COUNT_MAX) {
        watch->more++;
        return;
    }
    hang->since_step = step_at(watch, ops, hang->since);
    watch->entries[watch->count++] = entry;
}

void hang_watch_note(void *context, const struct wait_place *place,
                     const struct collective *collective, const struct wait *wait)
{
    struct hang_watch *watch = context;
    for (uint32_t i = 0; i < watch->setup->host_count; i++) {
        if ((collective->members & ~collective->joined & bit_of(i)) != 0) {
            note_missing(watch, place, collective, wait, (uint8_t)i);
        }
    }
}

/* --- what is told --- */

/* The host did nothing from then on: it is gone if others waited as long as they wait, or if it
 * never was as long in coming. */
static bool is_gone(const struct hang_watch *watch, const struct hang *hang, size_t op_count)
{
    const struct hang_host *host = &watch->hosts[hang->missing];
    const uint64_t since = host->last_op == OP_NONE ? 0 : host->last_op;
    return hang->until != OP_NONE || op_count - 1 - since > 2 * (uint64_t)host->gap_max;
}

static void settle(const struct hang_watch *watch, const struct hang_entry *entry, size_t op_count,
                   struct hang *hang)
{
    const struct hang_host *missing = &watch->hosts[entry->hang.missing];
    *hang = entry->hang;
    hang->is_silent = hang->cause == HANG_OOM && !is_after(missing->last_kept, missing->oom_op);
    if (hang->cause == HANG_ORDER && hang->came != OP_NONE && !entry->is_mutual) {
        hang->cause = HANG_BEHIND;
    }
    if (hang->cause == HANG_BEHIND && hang->came == OP_NONE && missing->last_op == entry->last_op) {
        hang->cause = is_gone(watch, hang, op_count) ? HANG_GONE : HANG_LIST_ENDS;
    }
    if (!watch->has_steps) {
        hang->since_step = hang->cause_step = hang->step = HANG_NO_STEP;
    }
}

void hang_watch_read(const struct hang_watch *watch, const struct op_list *ops, struct hangs *hangs)
{
    hangs->count = watch == NULL ? 0 : watch->count;
    hangs->more = watch == NULL ? 0 : watch->more;
    for (size_t i = 0; i < hangs->count; i++) {
        settle(watch, &watch->entries[i], ops->count, &hangs->hangs[i]);
    }
}
