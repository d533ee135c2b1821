#include "fuzz/mutate/mutate_mesh.h"

#include "fuzz/mutate/mutate_draw.h"

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

bool mesh_draw_time(const struct editing *editing)
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
    if (mesh_draw_time(editing)) {
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

uint64_t mesh_draw_members(struct random *random, uint32_t host_count, uint32_t with)
{
    const uint64_t all = UINT64_MAX >> (OP_HOST_COUNT_MAX - host_count);
    const uint64_t other = (with + 1 + random_below(random, host_count - 1)) % host_count;
    const uint64_t pair = UINT64_C(1) << with | UINT64_C(1) << other;
    return random_chance(random, 1, 2) ? pair : pair | (random_bits(random) & all);
}

uint16_t mesh_draw_number(struct random *random)
{
    return (uint16_t)random_below(random, NUMBER_MAX + 1);
}

void mesh_declare(struct input *input, uint16_t number, uint64_t members)
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
    return mesh_draw_number(editing->random);
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
        mesh_declare(editing->input, draw_number(editing),
                     mesh_draw_members(editing->random, setup->host_count, with));
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

/* None applies to a list of one host, as most are. */
const struct edit mesh_edits[] = {
    {"time", 2, change_time},
    {"bound", 1, change_bound},
    {"group", 2, change_group},
    {"mesh", 1, change_mesh},
    {0},
};
