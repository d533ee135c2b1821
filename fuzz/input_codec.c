#include "fuzz/private/input_parts.h"

#include "harness/base/check.h"
#include "harness/generate/faulting.h"

#include <stdlib.h>
#include <string.h>

void input_init(struct input *input)
{
    *input = (struct input){.lane_count = 1};
    setup_init(&input->setup);
    input->setup.capacity_bytes = INPUT_CAPACITY_GRANULES_DEFAULT * INPUT_GRANULE_BYTES;
    op_list_init(&input->ops);
}

void input_deinit(struct input *input)
{
    op_list_deinit(&input->ops);
    free(input->choices);
    *input = (struct input){0};
}

void input_set_choice_count(struct input *input, size_t count)
{
    CHECK(count <= INPUT_CHOICE_COUNT_MAX);
    if (count > input->choice_capacity) {
        input->choices = realloc(input->choices, count);
        CHECK(input->choices != NULL);
        input->choice_capacity = count;
    }
    if (count > input->choice_count) {
        memset(input->choices + input->choice_count, 0, count - input->choice_count);
    }
    input->choice_count = count;
}

void input_copy(struct input *to, const struct input *from)
{
    to->setup = from->setup;
    to->faults = from->faults;
    to->lane_count = from->lane_count;
    op_list_copy(&to->ops, &from->ops);
    input_set_choice_count(to, from->choice_count);
    if (from->choice_count > 0) {
        memcpy(to->choices, from->choices, from->choice_count);
    }
}

/* Copies the bytes that are there; the rest stays zero.  Returns how many there were. */
static size_t take_bytes(const uint8_t *bytes, size_t length, size_t wanted, void *to)
{
    const size_t taken = length < wanted ? length : wanted;
    if (taken > 0) {
        memcpy(to, bytes, taken);
    }
    return taken;
}

/* The header and the records of its hosts.  Returns how many bytes they are; *choices of the rest
 * choose the schedule. */
static size_t decode_head(const uint8_t *bytes, size_t length, struct input *input, size_t *choices)
{
    uint8_t header[INPUT_HEADER_BYTES] = {0};
    struct host_bytes hosts;
    size_t taken = take_bytes(bytes, length, sizeof header, header);
    header_decode(header, input);
    memcpy(hosts.header, header + INPUT_HOSTS_AT, sizeof hosts.header);
    const size_t records = hosts_record_count(hosts.header) * INPUT_RECORD_BYTES;
    memset(hosts.records, 0, records);
    taken += take_bytes(length == 0 ? bytes : bytes + taken, length - taken, records,
                        hosts.records);
    hosts_decode(&hosts, input->lane_count > 1, &input->setup);
    *choices = read_number(header + 24, 2);
    return taken;
}

void input_decode(const uint8_t *bytes, size_t length, struct input *input)
{
    size_t choices;
    const size_t header_length = decode_head(bytes, length, input, &choices);
    choices = choices < length - header_length ? choices : length - header_length;
    input_set_choice_count(input, choices);
    if (choices > 0) {
        memcpy(input->choices, bytes + length - choices, choices);
    }
    op_list_clear(&input->ops);
    const size_t end = length - choices;
    for (size_t at = header_length; at < end && input->ops.count < INPUT_OP_COUNT_MAX;) {
        struct op op;
        at += op_decode(input, bytes + at, end - at, &op);
        op_list_append(&input->ops, &op);
    }
}

/* The sink of encoded bytes: it stores as many as fit, and counts all of them. */
struct sink {
    uint8_t *bytes;
    size_t capacity, length;
};

static void sink_add(struct sink *sink, const uint8_t *bytes, size_t length)
{
    if (sink->length + length <= sink->capacity) {
        memcpy(sink->bytes + sink->length, bytes, length);
    }
    sink->length += length;
}

size_t input_encode(const struct input *input, uint8_t *bytes, size_t capacity)
{
    struct sink sink = {.bytes = bytes, .capacity = capacity};
    uint8_t part[INPUT_WIDE_BYTES];
    struct host_bytes hosts;
    header_encode(input, part);
    hosts_encode(&input->setup, &hosts);
    memcpy(part + INPUT_HOSTS_AT, hosts.header, sizeof hosts.header);
    sink_add(&sink, part, INPUT_HEADER_BYTES);
    for (unsigned i = 0; i < hosts_record_count(hosts.header); i++) {
        sink_add(&sink, hosts.records[i], INPUT_RECORD_BYTES);
    }
    for (size_t i = 0; i < input->ops.count; i++) {
        const size_t length = op_encode(input, &input->ops.ops[i], part);
        sink_add(&sink, part, length);
    }
    if (input->choice_count > 0) {
        sink_add(&sink, input->choices, input->choice_count);
    }
    return sink.length;
}

size_t input_head_bytes(const struct input *input)
{
    struct host_bytes hosts;
    hosts_encode(&input->setup, &hosts);
    return INPUT_HEADER_BYTES + hosts_record_count(hosts.header) * INPUT_RECORD_BYTES;
}

size_t input_op_bytes(const struct input *input, const struct op *op)
{
    uint8_t part[INPUT_WIDE_BYTES];
    return op_encode(input, op, part);
}

bool input_from_ops(const struct setup *setup, const struct op_list *ops, struct input *input)
{
    if (!header_take_setup(setup, &input->setup) || ops->count > INPUT_OP_COUNT_MAX) {
        return false;
    }
    input->faults = (struct fault_options){0};
    input->lane_count = 1;
    input_set_choice_count(input, 0);
    op_list_copy(&input->ops, ops);
    for (size_t i = 0; i < ops->count; i++) {
        const uint8_t lane = ops->ops[i].lane % INPUT_LANE_COUNT_MAX;
        input->lane_count = input->lane_count > lane ? input->lane_count : (uint8_t)(lane + 1);
    }
    for (size_t i = 0; i < ops->count; i++) {
        op_fold(&input->setup, input->lane_count, &input->ops.ops[i]);
    }
    return true;
}
