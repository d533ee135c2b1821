/* Which accesses of lanes are ordered, by hand and against the definition. */
#include "explore/chance.h"
#include "explore/order.h"
#include "explore/private/order_shadow.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <stdio.h>
#include <string.h>

static struct order *order;
static struct race race;
static unsigned char memory[64] __attribute__((aligned(8)));
static const char objects[3];

static void set_up_order(void)
{
    order = order_create();
}

static void tear_down_order(void)
{
    ck_assert(order_invariants_hold(order));
    order_destroy(order);
}

static bool is_access_racing(uint8_t lane, bool is_write, size_t at, size_t size_bytes)
{
    const struct access access = {
        .lane = lane, .is_write = is_write, .op = lane + 10u, .place = &memory[at]};
    return order_access(order, &access, &memory[at], size_bytes, &race);
}

EVERY_TEST(.setup = set_up_order, .teardown = tear_down_order);

/* --- step by step --- */

/* Statements are "LANE WORD [AT [SIZE]] [races [with LANE]]"; AT is a byte of the memory, also of
 * an object, or the lane that is started or joined. */
static const struct {
    const char *promise, *statements;
} rows[] = {
    {"what one lane does is ordered",
     "0 writes 0 8; 0 releases 48; 0 reads 0 8; 0 releases 48; 0 writes 0 8; 0 releases 48; "
     "0 reads 0 8; 0 releases 48"},
    {"unordered accesses race when one writes",
     "0 writes 0 4; 1 writes 0 4 races; 1 reads 0 4 races; 0 reads 16 4; 1 reads 16 4; "
     "2 writes 16 4 races"},
    {"a release orders what was before it and no more",
     "0 writes 0 8; 0 releases 48; 0 writes 8 8; 1 acquires 48; 1 writes 0 8; "
     "1 writes 8 8 races"},
    {"another object orders nothing",
     "0 writes 0 8; 0 releases 48; 1 acquires 49; 1 writes 0 8 races"},
    {"order goes through a chain of three lanes",
     "0 writes 0 8; 0 releases 48; 1 acquires 48; 1 releases 49; 2 acquires 49; "
     "2 writes 0 8"},
    {"a write after reads must come after all of them",
     "0 reads 0 8; 1 reads 0 8; 1 releases 48; 2 acquires 48; 2 writes 0 8 races with 0; "
     "0 releases 48; 2 acquires 48; 2 writes 0 8"},
    {"starts and joins order",
     "0 writes 0 8; 0 starts 1; 1 writes 0 8; 1 writes 8 8; 0 writes 8 8 races; "
     "0 writes 16 8; 1 reads 16 8 races; 0 joins 1; 0 writes 0 16"},
    {"ranges meet at their ends",
     "0 writes 3 30; 1 writes 2 1; 1 writes 33 8; 1 reads 32 1 races; 1 reads 0 4 races"},
    {"memory given back is new",
     "0 writes 0 24; 0 releases 9; 0 forgets 5 10; 1 writes 5 10; 1 writes 4 1 races; "
     "1 writes 15 1 races; 1 acquires 9; 1 writes 4 1 races"},
    {"much memory given back is new",
     "0 writes 0 24; 0 releases 9; 0 forgets 8 1099511627776; 1 writes 8 16; 1 acquires 9; "
     "1 writes 7 1 races"},
    {"a reset forgets all", "0 writes 0 8; 0 releases 48; 0 resets; 1 writes 0 8; 2 acquires 48; "
                            "2 writes 0 8 races with 1"},
    {"a relaxed store ends what another lane released",
     "0 writes 0 8; 0 stores_release 48; 1 stores 48; 2 loads_acquire 48; "
     "2 reads 0 8 races"},
    {"a relaxed store goes on with what the same lane released",
     "0 writes 0 8; 0 stores_release 48; 0 stores 48; 2 loads_acquire 48; 2 reads 0 8"},
    {"a release store replaces what another lane released",
     "0 writes 0 8; 1 writes 8 8; 0 stores_release 48; 1 stores_release 48; "
     "2 loads_acquire 48; 2 reads 8 8; 2 reads 0 8 races"},
    {"an update carries on what was released",
     "0 writes 0 8; 0 stores_release 48; 1 loads 48; 1 updates 48; 1 reads 0 8 races; "
     "2 loads_acquire 48; 2 reads 0 8"},
    {"fences order through relaxed operations",
     "0 writes 0 8; 0 fences_release; 0 writes 8 8; 0 stores 48; 1 loads 48; "
     "1 reads 0 8 races; 1 fences_acquire; 1 reads 0 8; 1 reads 8 8 races"},
    {"a plain access races with an atomic one",
     "0 writes_atomic 0 8; 1 writes_atomic 0 8; 2 reads 0 8 races; 2 writes 8 8; "
     "1 reads_atomic 8 8 races; 2 reads 16 8; 1 reads_atomic 16 8; "
     "1 writes_atomic 16 8 races"},
};

struct statement {
    char word[16];
    uint8_t lane;
    unsigned at;
    size_t size_bytes;
};

static bool is_word(const struct statement *statement, const char *word)
{
    return strcmp(statement->word, word) == 0;
}

/* True: it does something to the order alone, which was done. */
static bool do_order(const struct statement *statement)
{
    const uint8_t lane = statement->lane, other = (uint8_t)statement->at;
    const void *object = &memory[statement->at];
    const bool acquires = strstr(statement->word, "acquire") != NULL;
    const bool releases = strstr(statement->word, "release") != NULL;
    if (is_word(statement, "releases")) {
        order_release(order, lane, object);
    } else if (is_word(statement, "acquires")) {
        order_acquire(order, lane, object);
    } else if (strncmp(statement->word, "stores", 6) == 0) {
        order_atomic_store(order, lane, object, releases);
    } else if (strncmp(statement->word, "loads", 5) == 0) {
        order_atomic_load(order, lane, object, acquires);
    } else if (is_word(statement, "updates")) {
        order_atomic_update(order, lane, object, releases);
    } else if (strncmp(statement->word, "fences", 6) == 0) {
        order_atomic_fence(order, lane, acquires, releases);
    } else if (is_word(statement, "starts")) {
        order_start(order, lane, other);
    } else if (is_word(statement, "joins")) {
        order_join(order, lane, other);
    } else if (is_word(statement, "forgets")) {
        order_forget(order, object, statement->size_bytes);
    } else if (is_word(statement, "resets")) {
        order_reset(order);
    } else {
        return false;
    }
    return true;
}

static bool is_racing(const struct statement *statement)
{
    const bool is_write = strncmp(statement->word, "writes", 6) == 0;
    const struct access atomic = {
        .lane = statement->lane, .is_write = is_write, .op = STEP_OP_NONE};
    ck_assert_msg(is_write || strncmp(statement->word, "reads", 5) == 0, "%s", statement->word);
    return strstr(statement->word, "atomic") != NULL
               ? order_atomic_access(order, &atomic, &memory[statement->at], statement->size_bytes,
                                     &race)
               : is_access_racing(statement->lane, is_write, statement->at, statement->size_bytes);
}

TEST(what_is_ordered_does_not_race, .to = sizeof rows / sizeof *rows)
{
    char text[512];
    ck_assert_int_lt(snprintf(text, sizeof text, "%s", rows[_i].statements), (int)sizeof text);
    for (char *rest, *next = strtok_r(text, ";", &rest); next != NULL;
         next = strtok_r(NULL, ";", &rest)) {
        struct statement statement = {0};
        unsigned earlier = 0;
        const char *races = strstr(next, "races");
        ck_assert_int_ge(sscanf(next, "%hhu %15s %u %zu", &statement.lane, statement.word,
                                &statement.at, &statement.size_bytes),
                         2);
        const bool is_race = !do_order(&statement) && is_racing(&statement);
        ck_assert_msg(is_race == (races != NULL), "%s: %s", rows[_i].promise, next);
        ck_assert(races == NULL || sscanf(races, "races with %u", &earlier) < 1 ||
                  race.earlier.lane == earlier);
    }
}

TEST(a_race_says_who_met_whom_where)
{
    ck_assert(!is_access_racing(3, true, 2, 4));
    ck_assert(is_access_racing(1, false, 4, 4));
    ck_assert_ptr_eq(race.address, &memory[4]);
    ck_assert_uint_eq(race.size_bytes, 2);
    ck_assert_uint_eq(race.earlier.lane, 3);
    ck_assert_uint_eq(race.earlier.op, 13);
    ck_assert(race.earlier.is_write);
    ck_assert_ptr_eq(race.earlier.place, &memory[2]);
    ck_assert_uint_eq(race.later.lane, 1);
    ck_assert(!race.later.is_write);
    ck_assert_ptr_eq(race.later.place, &memory[4]);
}

TEST(bytes_of_one_word_do_not_meet)
{
    for (uint8_t lane = 0; lane < 8; lane++) {
        ck_assert(!is_access_racing(lane, true, lane, 1));
    }
    for (uint8_t lane = 0; lane < 8; lane++) {
        ck_assert(!is_access_racing(lane, true, lane, 1));
        ck_assert(is_access_racing(8, false, lane, 1));
        ck_assert_uint_eq(race.earlier.lane, lane);
    }
}

TEST(much_is_remembered)
{
    enum { WORD_COUNT = 100000 };
    static uint64_t words[WORD_COUNT];
    for (unsigned turn = 0; turn < 2; turn++) {
        const struct access first = {.lane = 0, .is_write = true}, second = {.lane = 1};
        size_t early = 0, late = 0;
        for (size_t i = 0; i < WORD_COUNT; i++) {
            order_release(order, 0, &words[i]);
            early += order_access(order, &first, &words[i], 8, &race);
        }
        for (size_t i = 0; i < WORD_COUNT; i++) {
            late += order_access(order, &second, &words[i], 1, &race);
        }
        ck_assert_uint_eq(early, 0);
        ck_assert_uint_eq(late, WORD_COUNT);
        order_reset(order);
    }
}

/* --- the definition --- */

enum { TRACE_COUNT = 20000, EVENT_COUNT = 48, LANE_COUNT = 3, BYTE_COUNT = 16 };

/* Each event is a bit; what comes before an event is a set of them. */
struct definition {
    uint64_t before[LANE_COUNT]; /* the next event of the lane */
    uint64_t of_lane[LANE_COUNT];
    uint64_t released[3]; /* by what acquires of the object come after */
    uint64_t reads[BYTE_COUNT], writes[BYTE_COUNT];
    uint32_t ended; /* bit per lane */
};

/* The events that race with an access of the lane. */
static uint64_t find_racing_events(const struct definition *all, uint8_t lane, bool is_write,
                                   size_t at, size_t size_bytes)
{
    uint64_t found = 0;
    for (size_t i = at; i < at + size_bytes; i++) {
        found |= all->writes[i] | (is_write ? all->reads[i] : 0);
    }
    return found & ~all->before[lane] & ~all->of_lane[lane];
}

/* False: the trace ends with a race. */
static bool compare_access(struct definition *all, struct chance *chance, uint8_t lane,
                           uint32_t event)
{
    const size_t at = chance_below(chance, 4) * 4;
    const size_t size_bytes = (size_t)1 << chance_below(chance, at % 8 == 0 ? 4 : 3);
    const size_t from = at + (size_bytes == 1 ? chance_below(chance, 4) : 0);
    const bool is_write = chance_below(chance, 2) == 0;
    const struct access access = {.lane = lane, .is_write = is_write, .op = event};
    const uint64_t expected = find_racing_events(all, lane, is_write, from, size_bytes);
    /* Most traces are to go on for long. */
    if (expected != 0 && chance_below(chance, 16) != 0) {
        return true;
    }
    const bool found = order_access(order, &access, &memory[from], size_bytes, &race);
    ck_assert(order_invariants_hold(order));
    ck_assert_int_eq(found, expected != 0);
    if (found) {
        ck_assert((expected >> race.earlier.op & 1) != 0);
        ck_assert_uint_eq(race.later.op, event);
        return false;
    }
    for (size_t i = from; i < from + size_bytes; i++) {
        *(is_write ? &all->writes[i] : &all->reads[i]) |= UINT64_C(1) << event;
    }
    return true;
}

static void forget_some(struct definition *all, struct chance *chance)
{
    const size_t at = chance_below(chance, BYTE_COUNT);
    const size_t size_bytes = 1 + chance_below(chance, (uint32_t)(BYTE_COUNT - at));
    order_forget(order, &memory[at], size_bytes);
    memset(&all->reads[at], 0, size_bytes * sizeof all->reads[0]);
    memset(&all->writes[at], 0, size_bytes * sizeof all->writes[0]);
}

static void meet_object(struct definition *all, struct chance *chance, uint8_t lane)
{
    const uint32_t object = chance_below(chance, 3);
    if (chance_below(chance, 2) == 0) {
        order_release(order, lane, &objects[object]);
        all->released[object] |= all->before[lane] | all->of_lane[lane];
    } else {
        order_acquire(order, lane, &objects[object]);
        all->before[lane] |= all->released[object];
    }
}

static void start_or_join(struct definition *all, struct chance *chance, uint8_t lane)
{
    const uint8_t other = (uint8_t)((lane + 1 + chance_below(chance, LANE_COUNT - 1)) % LANE_COUNT);
    if ((all->ended >> other & 1) == 0 && all->of_lane[other] == 0) {
        order_start(order, lane, other);
        all->before[other] |= all->before[lane] | all->of_lane[lane];
    } else if (chance_below(chance, 4) == 0) {
        order_join(order, lane, other);
        all->before[lane] |= all->before[other] | all->of_lane[other];
        all->ended |= 1u << other;
    }
}

/* Returns whether the trace ended with a race. */
static bool compare_trace(struct chance *chance)
{
    struct definition all = {0};
    order_reset(order);
    for (uint32_t event = 0; event < EVENT_COUNT; event++) {
        const uint8_t lane = (uint8_t)chance_below(chance, LANE_COUNT);
        const uint32_t kind = chance_below(chance, 32);
        if ((all.ended >> lane & 1) != 0) {
            continue;
        }
        if (kind < 12) {
            if (!compare_access(&all, chance, lane, event)) {
                return true;
            }
        } else if (kind < 30) {
            meet_object(&all, chance, lane);
        } else if (kind < 31) {
            start_or_join(&all, chance, lane);
        } else {
            forget_some(&all, chance);
        }
        all.of_lane[lane] |= UINT64_C(1) << event;
    }
    return false;
}

TEST(random_traces_agree_with_the_definition)
{
    struct chance chance = chance_of(1, 0);
    const uint64_t count = draws_count(TRACE_COUNT, 1);
    uint64_t raced = 0;
    for (uint64_t i = 0; i < count; i++) {
        raced += compare_trace(&chance);
    }
    ck_assert_uint_gt(raced, count / 10);
    ck_assert_uint_lt(raced, count * 9 / 10);
}
