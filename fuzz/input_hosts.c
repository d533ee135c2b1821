/* The hosts' time and their groups, as the last five bytes of a header say them, and records behind
 * it what these bytes cannot:
 *
 *   27     bit 0: each host has a time of its own, in an input of one lane; bits 1-2: the bound
 *   28     the clocks of such hosts: 0 all are right, else as decode_clock() has it
 *   29     low half: how many hosts are in a row, 0 = no groups; bit 4: columns are groups, too
 *   30     how many records follow the header
 *   31     a mark: without it the bytes before mean nothing, so that few of any bytes have records
 *
 * A record, by byte; one of a host that is not there, or of a group without members, says nothing:
 *
 *   0      modulo 3: a group, the clock of a host, the bound
 *   1      the host
 *   2-3    the number of the group
 *   4-7    the clock's drift
 *   8-15   the members of the group, a bit each; or ns: how far the clock is ahead, the bound */
#include "fuzz/private/input_parts.h"

#include "harness/base/check.h"

#include <stdio.h>
#include <string.h>

enum { MARK = 'H', OWN_TIME = 1, BOUND_SHIFT = 1, BOUND_COUNT = 4 };
enum { WIDTH_MASK = 15, COLUMNS = 16, MESH_COUNT = 32, COLUMN_NUMBER = 64 };
enum { RECORD_GROUP, RECORD_CLOCK, RECORD_BOUND, RECORD_KIND_COUNT };
/* The limits of what a file of ops can express. */
#define TIME_MASK (UINT64_MAX >> 2)
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

static void name_group(unsigned number, char name[SETUP_GROUP_NAME_BYTES])
{
    const char *kind = number < COLUMN_NUMBER       ? "row"
                       : number < 2 * COLUMN_NUMBER ? "column"
                                                    : "group";
    (void)snprintf(name, SETUP_GROUP_NAME_BYTES, "%s %u", kind,
                   number < 2 * COLUMN_NUMBER ? number % COLUMN_NUMBER : number);
}

/* Members that are not there are left out. */
static void add_group(struct setup *setup, unsigned number, uint64_t members)
{
    char name[SETUP_GROUP_NAME_BYTES];
    const uint64_t there = members & (UINT64_MAX >> (OP_HOST_COUNT_MAX - setup->host_count));
    if (there != 0) {
        name_group(number, name);
        (void)setup_set_group(setup, (uint16_t)number, there, name);
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
        add_group(setup, i, rows[i]);
        add_group(setup, COLUMN_NUMBER + i, columns[i]);
    }
}

static void decode_record(const uint8_t record[INPUT_RECORD_BYTES], struct setup *setup)
{
    const uint64_t number = read_number(record + 8, 8);
    const int32_t drift = (int32_t)read_number(record + 4, 4) % (SETUP_DRIFT_MAX + 1);
    const unsigned kind = record[0] % RECORD_KIND_COUNT;
    if (kind == RECORD_GROUP) {
        add_group(setup, (unsigned)read_number(record + 2, 2), number);
    } else if (kind != RECORD_CLOCK) {
        setup->collective_bound_ns = number == DELAY_NEVER ? DELAY_NEVER : number & TIME_MASK;
    } else if (setup->has_clocks && record[1] < setup->host_count) {
        setup->clocks[record[1]] = (struct setup_clock){.ahead_ns = number & TIME_MASK,
                                                        .drift = drift};
    }
}

unsigned hosts_record_count(const uint8_t header[INPUT_HOSTS_BYTES])
{
    return header[4] == MARK ? header[3] : 0;
}

void hosts_decode(const struct host_bytes *bytes, bool has_lanes, struct setup *setup)
{
    const uint8_t *header = bytes->header;
    const bool is_marked = header[4] == MARK;
    setup->has_clocks = is_marked && !has_lanes && (header[0] & OWN_TIME) != 0;
    setup->collective_bound_ns = is_marked ? bounds_ns[header[0] >> BOUND_SHIFT & (BOUND_COUNT - 1)]
                                           : 0;
    memset(setup->clocks, 0, sizeof setup->clocks);
    for (uint32_t i = 0; i < setup->host_count && setup->has_clocks; i++) {
        setup->clocks[i] = decode_clock(header[1], i);
    }
    decode_mesh(is_marked ? header[2] : 0, setup);
    for (unsigned i = 0; i < hosts_record_count(header); i++) {
        decode_record(bytes->records[i], setup);
    }
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

static uint8_t *add_record(struct host_bytes *bytes, uint8_t kind)
{
    uint8_t *record = bytes->records[bytes->header[3]++];
    CHECK(bytes->header[3] > 0);
    memset(record, 0, INPUT_RECORD_BYTES);
    record[0] = kind;
    return record;
}

static void encode_bound(const struct setup *setup, struct host_bytes *bytes)
{
    unsigned bound = BOUND_COUNT;
    while (--bound > 0 && bounds_ns[bound] != setup->collective_bound_ns) {
    }
    bytes->header[0] |= (uint8_t)(bound << BOUND_SHIFT);
    if (bounds_ns[bound] != setup->collective_bound_ns) {
        write_number(add_record(bytes, RECORD_BOUND) + 8, 8, setup->collective_bound_ns);
    }
}

static void encode_clocks(const struct setup *setup, struct host_bytes *bytes)
{
    if (!setup->has_clocks) {
        return;
    }
    bytes->header[0] |= OWN_TIME;
    bytes->header[1] = are_right(setup) ? 0 : find_clock_code(setup);
    for (uint32_t i = 0; i < setup->host_count && bytes->header[1] == 0; i++) {
        if (setup->clocks[i].ahead_ns != 0 || setup->clocks[i].drift != 0) {
            uint8_t *record = add_record(bytes, RECORD_CLOCK);
            record[1] = (uint8_t)i;
            write_number(record + 4, 4, (uint32_t)setup->clocks[i].drift);
            write_number(record + 8, 8, setup->clocks[i].ahead_ns);
        }
    }
}

static void encode_groups(const struct setup *setup, struct host_bytes *bytes)
{
    bytes->header[2] = setup->group_count > 0 ? find_mesh_code(setup) : 0;
    for (uint32_t i = 0; i < setup->group_count && bytes->header[2] == 0; i++) {
        uint8_t *record = add_record(bytes, RECORD_GROUP);
        write_number(record + 2, 2, setup->groups[i].number);
        write_number(record + 8, 8, setup->groups[i].members);
    }
}

void hosts_encode(const struct setup *setup, struct host_bytes *bytes)
{
    memset(bytes->header, 0, sizeof bytes->header);
    encode_bound(setup, bytes);
    encode_clocks(setup, bytes);
    encode_groups(setup, bytes);
    const uint8_t *header = bytes->header;
    bytes->header[4] = (header[0] | header[1] | header[2] | header[3]) != 0 ? MARK : 0;
}

/* Says them as bytes, and reads these as those of so many hosts. */
static void settle_hosts(struct input *input, uint32_t host_count, bool has_lanes)
{
    struct host_bytes bytes;
    hosts_encode(&input->setup, &bytes);
    input->setup.host_count = host_count;
    hosts_decode(&bytes, has_lanes, &input->setup);
}

void input_set_host_count(struct input *input, uint32_t host_count)
{
    settle_hosts(input, host_count, input->lane_count > 1);
}

void input_settle_hosts(struct input *input)
{
    settle_hosts(input, input->setup.host_count, input->lane_count > 1);
}

void input_set_mesh(struct input *input, unsigned width, bool has_columns)
{
    CHECK(width >= 1 && width <= WIDTH_MASK);
    decode_mesh(width | (has_columns ? COLUMNS : 0), &input->setup);
}

void input_share_time(struct input *input)
{
    settle_hosts(input, input->setup.host_count, true);
}

void input_forget_hosts(struct input *input)
{
    static const struct host_bytes none;
    hosts_decode(&none, false, &input->setup);
}
