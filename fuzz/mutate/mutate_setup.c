#include "fuzz/mutate/mutate_draw.h"

enum { HOSTS_MAX = 4, CHOICES_ADDED_MAX = 64, GRANULE_LOG2_LOW = 6, GRANULE_LOG2_HIGH = 12 };

/* --- the allocator's options --- */

static bool set_option(const struct editing *editing, const char *key, const char *const *values,
                       size_t count)
{
    struct setup *setup = &editing->input->setup;
    return setup_set_option(setup, key, values[random_below(editing->random, count)]);
}

static bool change_defrag(struct editing *editing)
{
    static const char *const values[] = {"none", "slide", "repack"};
    return set_option(editing, "defrag", values, 3);
}

static bool change_order(struct editing *editing)
{
    static const char *const values[] = {"drain,defragment,evict", "drain,evict,defragment",
                                         "defragment,drain,evict", "defragment,evict,drain",
                                         "evict,drain,defragment", "evict,defragment,drain"};
    return set_option(editing, "order", values, 6);
}

static bool change_flag(const struct editing *editing, const char *key)
{
    static const char *const values[] = {"no", "yes"};
    return set_option(editing, key, values, 2);
}

static bool change_eviction(struct editing *editing)
{
    return change_flag(editing, "program_evicts_program");
}

static bool change_message(struct editing *editing)
{
    return change_flag(editing, "message_code");
}

/* Changes a mitigation: with less that helps, what is left must do more. */
static bool change_mitigations(struct editing *editing)
{
    return change_flag(editing, random_chance(editing->random, 1, 2) ? "drains" : "evicts");
}

/* --- the device --- */

/* Small devices: full ones are what matters, and few ops fill them. */
static bool change_capacity(struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    const uint64_t units = random_log_uniform(editing->random, 4, 2048);
    setup->chip[0] = '\0';
    setup->capacity_bytes = units * draw_unit_bytes(setup);
    return true;
}

/* The device keeps its number of granules. */
static bool change_granule(struct editing *editing)
{
    struct setup *setup = &editing->input->setup;
    const uint64_t units = draw_capacity_units(setup);
    if (setup->chip[0] != '\0' || units > UINT16_MAX) {
        return false;
    }
    setup->granule_bytes = UINT64_C(1)
                           << random_between(editing->random, GRANULE_LOG2_LOW, GRANULE_LOG2_HIGH);
    setup->capacity_bytes = units * setup->granule_bytes;
    return true;
}

static bool change_seed(struct editing *editing)
{
    editing->input->setup.seed = random_bits(editing->random);
    return true;
}

static bool change_faults(struct editing *editing)
{
    editing->input->faults.kinds ^= UINT32_C(1)
                                    << random_below(editing->random, FAULTING_KIND_COUNT);
    return true;
}

/* --- hosts and lanes --- */

/* The ops are dealt out to the hosts. */
static bool change_hosts(struct editing *editing)
{
    struct input *input = editing->input;
    input_set_host_count(input, 1 + (uint32_t)random_below(editing->random, HOSTS_MAX));
    for (size_t i = 0; i < input->ops.count; i++) {
        struct op *op = &input->ops.ops[i];
        op->host = (uint8_t)(op->host % input->setup.host_count);
        if (random_chance(editing->random, 1, 4)) {
            op->host = (uint8_t)random_below(editing->random, input->setup.host_count);
        }
    }
    return true;
}

static bool change_lanes(struct editing *editing)
{
    struct input *input = editing->input;
    input->lane_count = (uint8_t)random_between(editing->random, 1, INPUT_LANE_COUNT_MAX);
    for (size_t i = 0; i < input->ops.count; i++) {
        input->ops.ops[i].lane = (uint8_t)random_below(editing->random, input->lane_count);
    }
    if (input->lane_count > 1) {
        input_share_time(input);
    }
    return true;
}

/* A run of ops goes to another lane. */
static bool change_lane(struct editing *editing)
{
    struct input *input = editing->input;
    if (input->lane_count < 2 || input->ops.count == 0) {
        return false;
    }
    const uint8_t lane = (uint8_t)random_below(editing->random, input->lane_count);
    const size_t first = (size_t)random_below(editing->random, input->ops.count);
    const size_t count = draw_count(editing->random, input->ops.count - first);
    for (size_t i = first; i < first + count; i++) {
        input->ops.ops[i].lane = lane;
    }
    return true;
}

/* --- the schedule --- */

static bool change_choices(struct editing *editing)
{
    struct input *input = editing->input;
    if (input->lane_count < 2 || input->choice_count == 0) {
        return false;
    }
    const size_t first = (size_t)random_below(editing->random, input->choice_count);
    for (size_t i = first + draw_count(editing->random, input->choice_count - first);
         i-- > first;) {
        input->choices[i] = (uint8_t)random_bits(editing->random);
    }
    return true;
}

static bool extend_choices(struct editing *editing)
{
    struct input *input = editing->input;
    const size_t before = input->choice_count;
    if (input->lane_count < 2 || before + CHOICES_ADDED_MAX > INPUT_CHOICE_COUNT_MAX) {
        return false;
    }
    input_set_choice_count(input, before + draw_count(editing->random, CHOICES_ADDED_MAX));
    for (size_t i = before; i < input->choice_count; i++) {
        input->choices[i] = (uint8_t)random_bits(editing->random);
    }
    return true;
}

/* The header is rarely changed: with another device most of what the list had reached is gone.
 * Edits of the schedule apply to lists in lanes alone, and then they are what matters. */
const struct edit setup_edits[] = {
    {"defrag", 2, change_defrag},
    {"order", 2, change_order},
    {"mitigations", 1, change_mitigations},
    {"program_evicts", 2, change_eviction},
    {"message_code", 1, change_message},
    {"capacity", 4, change_capacity},
    {"granule", 2, change_granule},
    {"seed", 1, change_seed},
    {"fault_kinds", 1, change_faults},
    {"hosts", 2, change_hosts},
    {"lanes", 1, change_lanes},
    {"lane", 12, change_lane},
    {"choices", 20, change_choices},
    {"more_choices", 10, extend_choices},
    {0},
};
