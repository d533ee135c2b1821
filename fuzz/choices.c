#include "fuzz/choices.h"

#include "harness/base/check.h"

#include <assert.h>

/* No lane is among the sleepers, too. */
static_assert(LANE_COUNT_MAX + EVENT_COUNT_MAX <= UINT8_MAX + 1,
              "one byte can take each possibility");

static uint32_t count_bits(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

/* The lane of the index-th bit. */
static struct decision find_lane(uint64_t lanes, uint32_t index)
{
    for (; index > 0; index--) {
        lanes &= lanes - 1;
    }
    return (struct decision){.lane = (uint8_t)__builtin_ctzll(lanes)};
}

static uint32_t count_possibilities(const struct choice *choice)
{
    return count_bits(choice->lanes) + choice->event_count + count_bits(choice->sleepers);
}

/* Lanes, then events, then time-outs. */
static struct decision find_possibility(const struct choice *choice, uint32_t index)
{
    const uint32_t lane_count = count_bits(choice->lanes);
    if (index < lane_count) {
        return find_lane(choice->lanes, index);
    }
    index -= lane_count;
    if (index < choice->event_count) {
        return (struct decision){.completes = true, .event = choice->events[index]};
    }
    return find_lane(choice->sleepers, index - choice->event_count);
}

static uint32_t find_place(const struct choice *choice, const struct decision *wanted)
{
    for (uint32_t i = 0; i < count_possibilities(choice); i++) {
        const struct decision decision = find_possibility(choice, i);
        if (decision_equal(&decision, wanted)) {
            return i;
        }
    }
    CHECK(false); /* the default is always possible */
    return 0;
}

void choices_set(struct choices *choices, const uint8_t *bytes, size_t count)
{
    *choices = (struct choices){.bytes = bytes, .count = count};
}

static void choices_init(void *state, uint64_t seed, uint64_t argument)
{
    (void)seed;
    (void)argument;
    choices_set(state, NULL, 0);
}

static void choices_begin(void *state, uint64_t run)
{
    (void)run;
    ((struct choices *)state)->used = 0;
}

static struct decision choices_choose(void *state, const struct choice *choice)
{
    struct choices *choices = state;
    const struct decision otherwise = decision_default(choice);
    const uint32_t count = count_possibilities(choice);
    if (count < 2 || choices->used == choices->count) {
        return otherwise;
    }
    const uint8_t byte = choices->bytes[choices->used++];
    return byte == 0 ? otherwise
                     : find_possibility(choice, (find_place(choice, &otherwise) + byte) % count);
}

static bool choices_end(void *state, const struct run_summary *summary)
{
    (void)state;
    (void)summary;
    return true;
}

const struct strategy_kind strategy_choices = {
    .name = "choices",
    .summary = "Each decision is a byte of a fuzz input.",
    .state_bytes = sizeof(struct choices),
    .init = choices_init,
    .begin = choices_begin,
    .choose = choices_choose,
    .end = choices_end,
};
