#include "fuzz/mutate/mutate_draw.h"

#include "harness/base/check.h"

#include <stdlib.h>

enum { HOSTS_FEW = 2, HOSTS_MANY = 4, FACTOR_LOG10_MAX = 3 };
#define LATEST_NS UINT64_C(5000000000000) /* what a short op can say */

enum { NUMBER_MAX = 15, WIDTH_MAX = 4, DRIFT_FEW = 200 };
#define AHEAD_MAX_NS UINT64_C(60000000000)
#define BOUND_MAX_NS UINT64_C(600000000000)

static bool has_hosts(const struct input *input)
{
    return input->setup.host_count > 1;
}

/* --- time --- */

static struct setup_clock draw_clock(struct random *random)
{
    const int32_t most = random_chance(random, 1, 4) ? SETUP_DRIFT_MAX : DRIFT_FEW;
    return (struct setup_clock){
        .ahead_ns = draw_short_delay(random_log_uniform(random, 1, AHEAD_MAX_NS)),
        .drift = (int32_t)random_below(random, 2 * (uint64_t)most + 1) - most};
}

/* Each host gets a time of its own, some of them another clock.  False: they have it already, there
 * is one host, or there are lanes, which have one time. */
static bool draw_time(const struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    if (!has_hosts(editing->input) || editing->input->lane_count > 1 || setup->has_clocks) {
        return false;
    }
    setup->has_clocks = true;
    for (uint32_t i = 0; i < setup->host_count; i++) {
        setup->clocks[i] = random_chance(editing->random, 1, 4) ? draw_clock(editing->random)
                                                                : (struct setup_clock){0};
    }
    return true;
}

/* The hosts get a time of their own; those that have it get another clock, or one time again. */
static bool change_time(struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    struct random *random = editing->random;
    if (draw_time(editing)) {
        return true;
    }
    if (!has_hosts(editing->input) || !setup->has_clocks) {
        return false;
    }
    if (random_chance(random, 1, 8)) {
        input_share_time(editing->input);
        return true;
    }
    setup->clocks[random_below(random, setup->host_count)] = random_chance(random, 1, 4)
                                                                 ? (struct setup_clock){0}
                                                                 : draw_clock(random);
    return true;
}

/* The default, none, or any. */
static bool change_bound(struct editing *editing)
{
    struct random *random = editing->random;
    uint64_t *bound_ns = &editing->input->setup.collective_bound_ns;
    if (!has_hosts(editing->input)) {
        return false;
    }
    *bound_ns = *bound_ns != 0 && random_chance(random, 1, 4) ? 0
                : random_chance(random, 1, 4)
                    ? DELAY_NEVER
                    : draw_short_delay(random_log_uniform(random, 1000, BOUND_MAX_NS));
    return true;
}

/* --- groups --- */

static bool has_group(const struct op *op)
{
    return (op->flags & (OP_SPMD | OP_COLLECTIVE)) != 0;
}

/* Members of a group among so many hosts (2 at least), a bit each: `with` and others, mostly one.
 */
static uint64_t draw_members(struct random *random, uint32_t host_count, uint32_t with)
{
    const uint64_t all = UINT64_MAX >> (OP_HOST_COUNT_MAX - host_count);
    const uint64_t other = (with + 1 + random_below(random, host_count - 1)) % host_count;
    const uint64_t pair = UINT64_C(1) << with | UINT64_C(1) << other;
    return random_chance(random, 1, 2) ? pair : pair | (random_bits(random) & all);
}

/* A small number, so that edits meet in few groups. */
static uint16_t draw_few(struct random *random)
{
    return (uint16_t)random_below(random, NUMBER_MAX + 1);
}

/* Declares a group in place of one that had the number. */
static void declare_group(struct input *input, uint16_t number, uint64_t members)
{
    (void)setup_set_group(&input->setup, number, members, "");
    input_settle_hosts(input);
}

/* Mostly one that an op has. */
static uint16_t draw_number(const struct editing *editing)
{
    const struct op_list *ops = &editing->input->ops;
    size_t at = 0;
    if (random_chance(editing->random, 3, 4) &&
        draw_op_where(editing, ops->count, has_group, &at)) {
        return ops->ops[at].group;
    }
    return draw_few(editing->random);
}

/* A host joins the group or leaves it, or the group goes. */
static void change_members(const struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    uint64_t *members = &setup->groups[random_below(editing->random, setup->group_count)].members;
    *members = random_chance(editing->random, 1, 2)
                   ? 0
                   : *members ^ UINT64_C(1) << random_below(editing->random, setup->host_count);
    input_settle_hosts(editing->input);
}

static bool change_group(struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    if (!has_hosts(editing->input)) {
        return false;
    }
    if (setup->group_count == 0 || random_chance(editing->random, 1, 2)) {
        const uint32_t with = (uint32_t)random_below(editing->random, setup->host_count);
        declare_group(editing->input, draw_number(editing),
                      draw_members(editing->random, setup->host_count, with));
    } else {
        change_members(editing);
    }
    return true;
}

/* Rows of hosts and, half of the time, columns, in place of the groups that there were. */
static bool change_mesh(struct editing *editing)
{
    if (!has_hosts(editing->input)) {
        return false;
    }
    input_set_mesh(editing->input, (unsigned)random_between(editing->random, 1, WIDTH_MAX),
                   random_chance(editing->random, 1, 2));
    return true;
}

/* --- the same on all hosts --- */

/* The fate of an op of the list: it goes, stays, or stands there once for each of the hosts from
 * now on. */
struct fate {
    uint32_t at;   /* its number, or that of the first of its copies */
    uint8_t first; /* of sharing.hosts: whose copy that is; the others follow in a circle */
    bool is_copied, goes;
};

/* A run of ops that one host gives to all, or to those of a group. */
struct sharing {
    struct list_part part;
    uint8_t host;
    uint8_t hosts[OP_HOST_COUNT_MAX]; /* host_count of them: who does it */
    uint32_t host_count;
    bool is_collective; /* its executions, too, wait for each other */
    uint32_t all_count; /* hosts of the input from now on */
    uint64_t members;   /* of the group, a bit each; 0: each request is one of all hosts */
    uint16_t group;
    struct fate *fates; /* of each op of the list */
};

/* Returns which of the sharing hosts it is; host_count: none. */
static uint32_t find_sharer(const struct sharing *sharing, uint32_t host)
{
    uint32_t i = 0;
    while (i < sharing->host_count && sharing->hosts[i] != host) {
        i++;
    }
    return i;
}

static uint32_t find_number_on_host(const struct sharing *sharing, uint32_t old, uint32_t host)
{
    const struct fate *fate = &sharing->fates[old];
    const uint32_t place = fate->is_copied ? find_sharer(sharing, host) : 0;
    return fate->at + (fate->is_copied
                           ? (place + sharing->host_count - fate->first) % sharing->host_count
                           : 0);
}

/* Renames what the op names to that of the host's copy.  False: that host has no such thing. */
static bool rename_reference(const struct sharing *sharing, const struct op_list *ops,
                             uint32_t host, uint32_t *reference)
{
    const uint32_t old = *reference;
    if (old >= ops->count) {
        return true; /* it names nothing */
    }
    const struct fate *fate = &sharing->fates[old];
    const bool is_there = !fate->goes &&
                          (fate->is_copied ? find_sharer(sharing, host) < sharing->host_count
                                           : host == ops->ops[old].host);
    *reference = is_there ? find_number_on_host(sharing, old, host) : old;
    return is_there;
}

/* The op as the host has it. */
static struct op copy_op_to_host(const struct sharing *sharing, const struct op_list *ops,
                                 const struct op *op, uint32_t host)
{
    struct op renamed = *op;
    renamed.host = (uint8_t)host;
    if ((op->flags & OP_RELATIVE) != 0 || op->kind == OP_SWITCH) {
        return renamed;
    }
    const bool has_ref = rename_reference(sharing, ops, host, &renamed.ref);
    const bool has_event = rename_reference(sharing, ops, host, &renamed.event);
    if (!has_ref || !has_event) {
        renamed.ref = op->ref;
        renamed.event = op->event;
        op_loosen(&renamed);
    }
    return renamed;
}

/* Requests of all hosts are a group each, with the number of its first op, so that hardly two have
 * the same; those of some hosts are all of their group. */
static void mark_group(const struct sharing *sharing, uint32_t first, struct op *op)
{
    const bool is_execution = op->kind == OP_EXECUTE;
    const bool is_request = draw_is_request(op) || is_execution;
    op->flags &= (uint8_t) ~(OP_SPMD | OP_COLLECTIVE);
    op->flags |= is_request ? OP_SPMD : 0;
    op->flags |= is_execution && sharing->is_collective ? OP_COLLECTIVE : 0;
    op->group = !is_request ? 0 : sharing->members != 0 ? sharing->group : (uint16_t)first;
}

/* The whole list, or a run of it, and whose ops are copied: those of the host of one of them. */
static void choose_part(const struct editing *editing, struct sharing *sharing)
{
    const struct op_list *ops = &editing->input->ops;
    (void)draw_part(editing, ops, &sharing->part);
    if (random_chance(editing->random, 1, 2)) {
        sharing->part = (struct list_part){.count = ops->count};
    }
    sharing->host =
        ops->ops[sharing->part.first + (size_t)random_below(editing->random, sharing->part.count)]
            .host;
}

static bool is_copied(const struct sharing *sharing, const struct op *op)
{
    return op->host == sharing->host && op->kind != OP_SWITCH;
}

/* Ends the part where there is no room for more of it on all hosts.  False: there is none. */
static bool cut_part(const struct editing *editing, struct sharing *sharing)
{
    const struct op_list *ops = &editing->input->ops;
    struct list_part *part = &sharing->part;
    size_t length = ops->count;
    size_t copied_count = 0;
    for (size_t i = 0; i < part->count; i++) {
        const bool is_one = is_copied(sharing, &ops->ops[part->first + i]);
        length += is_one ? sharing->host_count - 1 : 0;
        if (length > editing->op_count_max) {
            part->count = i;
        } else {
            copied_count += is_one;
        }
    }
    return copied_count > 0;
}

/* Copied are the ops of the one host; those of who shares it go, because they do what it does. */
static void decide_fates(const struct editing *editing, struct sharing *sharing)
{
    const struct op_list *ops = &editing->input->ops;
    uint32_t at = 0;
    for (size_t i = 0; i < ops->count; i++) {
        struct fate *fate = &sharing->fates[i];
        const bool is_inside = i - sharing->part.first < sharing->part.count &&
                               ops->ops[i].kind != OP_SWITCH;
        const bool is_sharer = find_sharer(sharing, ops->ops[i].host) < sharing->host_count;
        *fate = (struct fate){.at = at,
                              .is_copied = is_inside && is_copied(sharing, &ops->ops[i]),
                              .goes = is_inside && is_sharer && !is_copied(sharing, &ops->ops[i])};
        fate->first = fate->is_copied ? (uint8_t)random_below(editing->random, sharing->host_count)
                                      : 0;
        at += fate->is_copied ? sharing->host_count : !fate->goes;
    }
}

static void write_list(struct editing *editing, const struct sharing *sharing)
{
    const struct op_list *ops = &editing->input->ops;
    for (size_t i = 0; i < ops->count; i++) {
        const struct fate *fate = &sharing->fates[i];
        const struct op *op = &ops->ops[i];
        for (uint32_t k = 0; k < sharing->host_count && fate->is_copied; k++) {
            const uint32_t host = sharing->hosts[(fate->first + k) % sharing->host_count];
            struct op copy = copy_op_to_host(sharing, ops, op, host);
            mark_group(sharing, fate->at, &copy);
            op_list_append(&editing->block, &copy);
        }
        if (!fate->is_copied && !fate->goes) {
            const struct op renamed = copy_op_to_host(sharing, ops, op, op->host);
            op_list_append(&editing->block, &renamed);
        }
    }
    op_list_copy(&editing->input->ops, &editing->block);
    op_list_clear(&editing->block);
}

static uint32_t draw_host_count(const struct editing *editing)
{
    const uint32_t before = editing->input->setup.host_count;
    const uint32_t drawn = random_chance(editing->random, 1, 2) ? HOSTS_FEW : HOSTS_MANY;
    return before > drawn ? before : drawn;
}

/* Chooses all hosts or, half of the time where there are more than two, those of a group. */
static void choose_hosts(const struct editing *editing, struct sharing *sharing)
{
    uint64_t members = UINT64_MAX;
    sharing->all_count = draw_host_count(editing);
    if (sharing->all_count > HOSTS_FEW && random_chance(editing->random, 1, 4)) {
        sharing->group = draw_few(editing->random);
        sharing->members = draw_members(editing->random, sharing->all_count, sharing->host);
        members = sharing->members;
    }
    for (uint32_t i = 0; i < sharing->all_count; i++) {
        if ((members >> i & 1) != 0) {
            sharing->hosts[sharing->host_count++] = (uint8_t)i;
        }
    }
}

/* Declares the group, and gives the hosts, half of the time, a time of their own. */
static void change_setup(const struct editing *editing, const struct sharing *sharing)
{
    input_set_host_count(editing->input, sharing->all_count);
    if (sharing->members != 0) {
        declare_group(editing->input, sharing->group, sharing->members);
    }
    if (random_chance(editing->random, 1, 2)) {
        (void)draw_time(editing);
    }
}

/* Lets all hosts, or all of a group, do what one host does in a run of ops, one after the other,
 * and now one and then another is the first.  Its requests then are requests of all of them as one,
 * which must get the same answer. */
static bool share_ops(struct editing *editing)
{
    struct input *input = editing->input;
    struct sharing sharing = {.host_count = 0};
    if (input->ops.count == 0) {
        return false;
    }
    choose_part(editing, &sharing);
    choose_hosts(editing, &sharing);
    if (!cut_part(editing, &sharing)) {
        return false;
    }
    change_setup(editing, &sharing);
    sharing.is_collective = random_chance(editing->random, 1, 2);
    sharing.fates = malloc(input->ops.count * sizeof *sharing.fates);
    CHECK(sharing.fates != NULL);
    decide_fates(editing, &sharing);
    write_list(editing, &sharing);
    free(sharing.fates);
    return true;
}

/* --- one host is another --- */

static bool has_own_event(const struct op *op)
{
    return op_kind_info((enum op_kind)op->kind)->makes_event && op->event == OP_NONE &&
           op->delay_ns != DELAY_NEVER && op->delay_ns != 0;
}

static uint64_t multiply_delay(uint64_t delay_ns, uint64_t factor)
{
    return delay_ns < LATEST_NS / factor ? delay_ns * factor : LATEST_NS;
}

/* Makes the work of one host take ten times as long from some op on, or a thousandth: what is done
 * there when the others ask is not what is done with them. */
static bool skew_host(struct editing *editing)
{
    struct op_list *ops = &editing->input->ops;
    size_t at = 0;
    if (editing->input->setup.host_count < 2 ||
        !draw_op_where(editing, ops->count, has_own_event, &at)) {
        return false;
    }
    const uint8_t host = ops->ops[at].host;
    const bool is_late = random_chance(editing->random, 1, 2);
    uint64_t factor = 1;
    for (uint64_t i = random_between(editing->random, 1, FACTOR_LOG10_MAX); i > 0; i--) {
        factor *= 10;
    }
    for (size_t left = draw_count(editing->random, ops->count - at); left > 0; left--, at++) {
        struct op *op = &ops->ops[at];
        if (op->host == host && has_own_event(op)) {
            op->delay_ns = draw_short_delay(is_late ? multiply_delay(op->delay_ns, factor)
                                                    : op->delay_ns / factor);
        }
    }
    return true;
}

/* Only share applies to a list of one host, as most are. */
const struct edit host_edits[] = {{"share", 4, share_ops},
                                  {"skew", 3, skew_host},
                                  {"time", 2, change_time},
                                  {"bound", 1, change_bound},
                                  {"group", 2, change_group},
                                  {"mesh", 1, change_mesh},
                                  {0}};
