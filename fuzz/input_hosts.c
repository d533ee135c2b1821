/* The hosts' time and their groups, as the last five bytes of a header say them:
 *
 *   27     bit 0: each host has a time of its own, in an input of one lane; bits 1-2: the bound
 *   28     the clocks of such hosts: 0 all are right, else as decode_clock() has it
 *   29     low half: how many hosts are in a row, 0 = no groups; bit 4: columns are groups, too
 *   30     not used
 *   31     a mark: without it the bytes before mean nothing, as in inputs older than they are */
#include "fuzz/private/input_parts.h"

#include <stdio.h>
#include <string.h>

enum { MARK = 'H', OWN_TIME = 1, BOUND_SHIFT = 1, BOUND_COUNT = 4 };
enum { WIDTH_MASK = 15, COLUMNS = 16, MESH_COUNT = 32, COLUMN_NUMBER = 64 };
enum { AHEAD_MASK = 15, DRIFT_SHIFT = 4, DRIFT_MIDDLE = 8, DRIFT_STEP = 1000, DRIFTING = 3 };

static const uint64_t bounds_ns[BOUND_COUNT] = {0, 2000, 1000000, DELAY_NEVER};

static struct setup_clock decode_clock(unsigned code, uint32_t host)
{
    if (code == 0) {
        return (struct setup_clock){0};
    }
    return (struct setup_clock){.ahead_ns = (uint64_t)(code & AHEAD_MASK) * host * 1000000,
                                .drift = ((int32_t)(code >> DRIFT_SHIFT) - DRIFT_MIDDLE) *
                                         DRIFT_STEP * (int32_t)(host % DRIFTING)};
}

static void add_group(struct setup *setup, unsigned number, uint64_t members, const char *name)
{
    char text[SETUP_GROUP_NAME_BYTES];
    (void)snprintf(text, sizeof text, "%s %u", name, number % COLUMN_NUMBER);
    if (members != 0) {
        (void)setup_set_group(setup, (uint16_t)number, members, text);
    }
}

/* Rows are groups from 0 on, columns from COLUMN_NUMBER. */
static void decode_mesh(unsigned code, struct setup *setup)
{
    const unsigned width = code & WIDTH_MASK;
    uint64_t rows[OP_HOST_COUNT_MAX] = {0}, columns[OP_HOST_COUNT_MAX] = {0};
    memset(setup->groups, 0, setup->group_count * sizeof setup->groups[0]);
    setup->group_count = 0;
    for (uint32_t i = 0; i < setup->host_count && width > 0; i++) {
        rows[i / width] |= UINT64_C(1) << i;
        columns[i % width] |= (code & COLUMNS) != 0 ? UINT64_C(1) << i : 0;
    }
    for (unsigned i = 0; i < OP_HOST_COUNT_MAX; i++) {
        add_group(setup, i, rows[i], "row");
        add_group(setup, COLUMN_NUMBER + i, columns[i], "column");
    }
}

void hosts_decode(const uint8_t bytes[INPUT_HOSTS_BYTES], bool has_lanes, struct setup *setup)
{
    const bool is_marked = bytes[4] == MARK;
    setup->has_clocks = is_marked && !has_lanes && (bytes[0] & OWN_TIME) != 0;
    setup->collective_bound_ns = is_marked ? bounds_ns[bytes[0] >> BOUND_SHIFT & (BOUND_COUNT - 1)]
                                           : 0;
    memset(setup->clocks, 0, sizeof setup->clocks);
    for (uint32_t i = 0; i < setup->host_count && setup->has_clocks; i++) {
        setup->clocks[i] = decode_clock(bytes[1], i);
    }
    decode_mesh(is_marked ? bytes[2] : 0, setup);
}

/* 0 when there is none that says them. */
static uint8_t find_clock_code(const struct setup *setup)
{
    for (unsigned code = 1; code <= UINT8_MAX; code++) {
        uint32_t same = 0;
        while (same < setup->host_count &&
               setup->clocks[same].ahead_ns == decode_clock(code, same).ahead_ns &&
               setup->clocks[same].drift == decode_clock(code, same).drift) {
            same++;
        }
        if (same == setup->host_count) {
            return (uint8_t)code;
        }
    }
    return 0;
}

static bool are_right(const struct setup *setup)
{
    uint32_t i = 0;
    while (i < setup->host_count && setup->clocks[i].ahead_ns == 0 && setup->clocks[i].drift == 0) {
        i++;
    }
    return i == setup->host_count;
}

static bool has_same_groups(const struct setup *one, const struct setup *other)
{
    uint32_t same = 0;
    while (same < one->group_count && one->groups[same].number == other->groups[same].number &&
           one->groups[same].members == other->groups[same].members) {
        same++;
    }
    return one->group_count == other->group_count && same == one->group_count;
}

static uint8_t find_mesh_code(const struct setup *setup)
{
    static struct setup mesh;
    uint8_t code = MESH_COUNT;
    mesh.host_count = setup->host_count;
    do {
        decode_mesh(--code, &mesh);
    } while (code > 0 && !has_same_groups(setup, &mesh));
    return code;
}

void hosts_encode(const struct setup *setup, uint8_t bytes[INPUT_HOSTS_BYTES])
{
    unsigned bound = BOUND_COUNT;
    while (--bound > 0 && bounds_ns[bound] != setup->collective_bound_ns) {
    }
    memset(bytes, 0, INPUT_HOSTS_BYTES);
    bytes[0] = (uint8_t)((setup->has_clocks ? OWN_TIME : 0) | bound << BOUND_SHIFT);
    bytes[1] = setup->has_clocks && !are_right(setup) ? find_clock_code(setup) : 0;
    bytes[2] = setup->group_count > 0 ? find_mesh_code(setup) : 0;
    bytes[4] = (bytes[0] | bytes[1] | bytes[2]) != 0 ? MARK : 0;
}

void input_set_host_count(struct input *input, uint32_t host_count)
{
    uint8_t bytes[INPUT_HOSTS_BYTES];
    hosts_encode(&input->setup, bytes);
    input->setup.host_count = host_count;
    hosts_decode(bytes, input->lane_count > 1, &input->setup);
}

void input_share_time(struct input *input)
{
    uint8_t bytes[INPUT_HOSTS_BYTES];
    hosts_encode(&input->setup, bytes);
    hosts_decode(bytes, true, &input->setup);
}

void input_change_hosts(struct input *input, unsigned index, uint8_t byte)
{
    uint8_t bytes[INPUT_HOSTS_BYTES];
    hosts_encode(&input->setup, bytes);
    bytes[index % (INPUT_HOSTS_BYTES - 2)] = byte;
    bytes[INPUT_HOSTS_BYTES - 1] = MARK;
    hosts_decode(bytes, input->lane_count > 1, &input->setup);
}
