#include "fuzz/private/input_parts.h"

#include "harness/base/check.h"

#include <stdio.h>
#include <string.h>

/* The header of an input, by byte:
 *
 *   0      version
 *   1      defrag: 0 not set, none, slide, repack
 *   2      order: 0 not set, then the six permutations
 *   3      program_evicts_program (low half) and message_code (high half): 0 not set, no, yes
 *   4      granule: 0 the target's, then 2^0 .. 2^16
 *   5      chip: 0 none, then those of `chips`
 *   6      hosts less one: below 192 modulo 4, from there on less 192
 *   7      lanes less one
 *   8-11   kinds of fault that are slipped in, a bit each
 *   12-15  capacity in granules: 31 bits when the highest bit is set, else 16; 0 = that of the
 *          chip, or INPUT_CAPACITY_GRANULES_DEFAULT
 *   16-23  seed
 *   24-25  how many bytes at the end of the input choose the schedule
 *   26     drains (low half) and evicts (high half), as in byte 3
 *   27-31  time and groups of the hosts, which may go on behind the header: input_hosts.c */

enum { GRANULE_LOG2_MAX = 16, FEW_HOSTS = 4, MANY_HOSTS_FROM = 192 };
#define LARGE_CAPACITY (UINT64_C(1) << 31)

static const char *const defrag_names[] = {NULL, "none", "slide", "repack"};
static const char *const order_names[] = {NULL,
                                          "drain,defragment,evict",
                                          "drain,evict,defragment",
                                          "defragment,drain,evict",
                                          "defragment,evict,drain",
                                          "evict,drain,defragment",
                                          "evict,defragment,drain"};
static const char *const flag_names[] = {NULL, "no", "yes"};

/* An option of the target that the header can say. */
static const struct {
    const char *key;
    const char *const *values; /* value_count of them; [0] = not set */
    uint8_t value_count;
    uint8_t byte, shift, mask; /* where it is */
} options[] = {
    {"defrag", defrag_names, 4, 1, 0, 0xFF},
    {"order", order_names, 7, 2, 0, 0xFF},
    {"program_evicts_program", flag_names, 3, 3, 0, 0x0F},
    {"message_code", flag_names, 3, 3, 4, 0x0F},
    {"drains", flag_names, 3, 26, 0, 0x0F},
    {"evicts", flag_names, 3, 26, 4, 0x0F},
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static size_t count_chips(void)
{
    size_t count = 0;
    while (chips[count] != NULL) {
        count++;
    }
    return count;
}

/* Code 0 is no chip. */
static const char *decode_chip(size_t code)
{
    const size_t folded = code % (count_chips() + 1);
    return folded == 0 ? "" : chips[folded - 1]->name;
}

static uint8_t encode_chip(const struct setup *setup)
{
    size_t code = count_chips();
    while (code > 0 && strcmp(chips[code - 1]->name, setup->chip) != 0) {
        code--;
    }
    return (uint8_t)code;
}

static void decode_capacity(struct setup *setup, uint64_t granules)
{
    const struct chip *chip = chip_find(setup->chip);
    if (granules == 0 && chip != NULL) {
        setup->capacity_bytes = chip->capacity_bytes / unit_bytes(setup) * unit_bytes(setup);
        return;
    }
    setup->capacity_bytes = (granules == 0 ? INPUT_CAPACITY_GRANULES_DEFAULT : granules) *
                            unit_bytes(setup);
}

static const struct setup *get_blank_setup(void)
{
    static struct setup setup;
    if (setup.host_count == 0) {
        setup_init(&setup);
    }
    return &setup;
}

void header_decode(const uint8_t header[INPUT_HEADER_BYTES], struct input *input)
{
    struct setup *setup = &input->setup;
    memset(setup->groups, 0, setup->group_count * sizeof setup->groups[0]);
    setup_copy(setup, get_blank_setup());
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *value =
            options[i].values[(header[options[i].byte] >> options[i].shift & options[i].mask) %
                              options[i].value_count];
        if (value != NULL) {
            CHECK(setup_set_option(setup, options[i].key, value));
        }
    }
    const unsigned granule = header[4] % (GRANULE_LOG2_MAX + 2);
    setup->granule_bytes = granule == 0 ? 0 : UINT64_C(1) << (granule - 1);
    (void)snprintf(setup->chip, sizeof setup->chip, "%s", decode_chip(header[5]));
    setup->host_count = 1u + (header[6] < MANY_HOSTS_FROM ? header[6] % FEW_HOSTS
                                                          : header[6] - MANY_HOSTS_FROM);
    input->lane_count = (uint8_t)(1 + header[7] % INPUT_LANE_COUNT_MAX);
    input->faults.kinds = (uint32_t)read_number(header + 8, 4) & FAULTING_ALL;
    const uint64_t granules = read_number(header + 12, 4);
    decode_capacity(
        setup, granules & ((granules & LARGE_CAPACITY) != 0 ? LARGE_CAPACITY - 1 : UINT16_MAX));
    setup->seed = read_number(header + 16, 8);
}

/* 0 when it is not set, or set to what the header cannot say. */
static uint8_t find_option_index(const struct setup *setup, unsigned option)
{
    const char *value = setup_option(setup, options[option].key);
    for (uint8_t i = 1; value != NULL && i < options[option].value_count; i++) {
        if (strcmp(options[option].values[i], value) == 0) {
            return i;
        }
    }
    return 0;
}

void header_encode(const struct input *input, uint8_t header[INPUT_HEADER_BYTES])
{
    const struct setup *setup = &input->setup;
    memset(header, 0, INPUT_HEADER_BYTES);
    header[0] = INPUT_VERSION;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        header[options[i].byte] |= (uint8_t)(find_option_index(setup, i) << options[i].shift);
    }
    header[4] = setup->granule_bytes == 0 ? 0
                                          : (uint8_t)(1 + __builtin_ctzll(setup->granule_bytes));
    header[5] = encode_chip(setup);
    header[6] = (uint8_t)(setup->host_count - 1 +
                          (setup->host_count <= FEW_HOSTS ? 0 : MANY_HOSTS_FROM));
    header[7] = (uint8_t)(input->lane_count - 1);
    write_number(header + 8, 4, input->faults.kinds);
    struct setup default_setup = *setup;
    decode_capacity(&default_setup, 0);
    if (default_setup.capacity_bytes != setup->capacity_bytes) {
        const uint64_t granules = setup->capacity_bytes / unit_bytes(setup);
        write_number(header + 12, 4, granules | (granules > UINT16_MAX ? LARGE_CAPACITY : 0));
    }
    write_number(header + 16, 8, setup->seed);
    write_number(header + 24, 2, input->choice_count);
}

static bool is_power_of_two(uint64_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

bool header_take_setup(const struct setup *from, struct setup *to)
{
    setup_init(to);
    (void)snprintf(to->chip, sizeof to->chip, "%s", decode_chip(encode_chip(from)));
    to->granule_bytes = from->granule_bytes;
    to->capacity_bytes = from->capacity_bytes;
    to->host_count = from->host_count;
    to->seed = from->seed;
    struct host_bytes hosts;
    hosts_encode(from, &hosts);
    hosts_decode(&hosts, false, to);
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const char *value = options[i].values[find_option_index(from, i)];
        if (value != NULL) {
            CHECK(setup_set_option(to, options[i].key, value));
        }
    }
    if (to->granule_bytes != 0 &&
        (!is_power_of_two(to->granule_bytes) || to->granule_bytes >> GRANULE_LOG2_MAX > 1)) {
        return false;
    }
    if (to->capacity_bytes == 0) {
        decode_capacity(to, 0);
        return true;
    }
    return to->capacity_bytes % unit_bytes(to) == 0 &&
           to->capacity_bytes / unit_bytes(to) < LARGE_CAPACITY;
}
