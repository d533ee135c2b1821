/* The oracle against the exhaustive judge: every small heap, with its blocks in every combination
 * of states, under every contract and for every request. */
#include "harness/base/random.h"
#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { G = SMALL_GRANULE, BLOCKS_DRAWN_MAX = 10, DRAWN = 1000000, DRAWN_LONG = 50000000 };

/* HBMSTRESS_EXHAUSTIVE=1 asks everything, which takes some 25 minutes in an optimised build. */
static bool is_long(void)
{
    return getenv("HBMSTRESS_EXHAUSTIVE") != NULL;
}

/* What was asked, and what the answers were. */
struct tally {
    struct oracle *oracle;
    uint64_t heaps, questions, premature;
};

/* --- one question --- */

static void report_disagreement(const struct small_oom *small, enum verdict_kind oracle,
                                enum verdict_kind exhaustive)
{
    char text[SMALL_TEXT_BYTES];
    small_oom_print(small, text);
    ck_abort_msg("%s: the oracle says %s, the exhaustive judge %s", text, verdict_name(oracle),
                 verdict_name(exhaustive));
}

static void ask_question(struct tally *tally, const struct small_oom *small)
{
    struct verdict verdict = {0};
    const enum verdict_kind expected = exhaustive_judge(&small->oom);
    oracle_judge(tally->oracle, &small->oom, 0, &verdict);
    if (verdict.kind != expected || expected == VERDICT_NONE) {
        report_disagreement(small, verdict.kind, expected);
    }
    tally->questions++;
    tally->premature += expected == VERDICT_PREMATURE;
}

static void print_tally(const struct tally *tally)
{
    printf(" %" PRIu64 " heaps, %" PRIu64 " questions, %" PRIu64 " premature, %" PRIu64
           " justified\n",
           tally->heaps, tally->questions, tally->premature, tally->questions - tally->premature);
    ck_assert_uint_gt(tally->premature, tally->questions / 50);
}

/* --- what is enumerated --- */

/* The larger the heaps, the less is asked twice.  A flag that no block depends on makes no
 * difference by docs/certificate.md, and the smaller heaps show that it makes none to the oracle.
 */
struct level {
    const char *name;
    uint64_t granules_min, granules_max;
    size_t blocks_max;
    /* States that differ little take turns, so that each comes to stand next to all others. */
    bool is_by_class;
    /* Flags of the contract vary only where some block depends on them, and stacks end at 3
     * granules. */
    bool is_brief;
    /* Of so many heaps one is asked about, unless HBMSTRESS_EXHAUSTIVE is set; two primes. */
    uint64_t stride_full, stride_short;
};
static const struct level levels[] = {
    {"all states, every question", 1, 3, 3, false, false, 1, 1},
    {"all states, every question", 4, 5, 4, false, false, 211, 631},
    {"all states", 6, 8, 3, false, true, 499, 1499},
    {"all states by class", 6, 8, 5, true, true, 997, 2999},
};
enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

static const char *const classes[] = {
    "mo",     /* stays and moves */
    "hnlxwz", /* stays and never moves */
    "uv",     /* may move after a wait */
    "de",     /* goes after a wait */
    "pg",     /* may be evicted; one of them moves, too */
    "bcs",    /* reserves a stack; may be evicted or move after a wait */
    "yr",     /* reserves a stack for ever */
    "q",      /* reserves a stack and goes after a wait */
};
enum { CLASS_COUNT = sizeof classes / sizeof classes[0], BRIEF_STACK_MAX = 3 };

struct enumeration {
    const struct level *level;
    uint64_t stride, heaps_met, turn;
    struct tally tally;
    struct small_oom small;
};

/* --- every question about one heap --- */

static bool has_queued_free(const struct small_oom *small)
{
    for (size_t i = 0; i < small->oom.block_count; i++) {
        const struct oom_block *block = &small->blocks[i];
        if (block->state == BLOCK_DYING && block->hold_count == 0 &&
            block->freed_at_ns != DELAY_NEVER) {
            return true;
        }
    }
    return false;
}

static bool has_evictable(const struct small_oom *small)
{
    for (size_t i = 0; i < small->oom.block_count; i++) {
        const struct oom_block *block = &small->blocks[i];
        if (block->kind == BLOCK_PROGRAM && block->state == BLOCK_LIVE &&
            block->used_until_ns != DELAY_NEVER && block->op != small->oom.request.own_op) {
            return true;
        }
    }
    return false;
}

static void ask_every_size(struct enumeration *enumeration, uint64_t smallest)
{
    struct oom *oom = &enumeration->small.oom;
    for (uint64_t size = smallest; size <= oom->capacity_bytes / G; size++) {
        oom->request.size_bytes = size * G;
        ask_question(&enumeration->tally, &enumeration->small);
    }
}

/* The eviction flag that the class does not name says the opposite: nobody may look at it. */
static void ask_every_request(struct enumeration *enumeration, bool evicts)
{
    const struct level *level = enumeration->level;
    struct oom *oom = &enumeration->small.oom;
    oom->request.class = REQUEST_BUFFER;
    oom->request.stack_bytes = 0;
    oom->evicts = evicts;
    oom->program_evicts_program = !evicts;
    ask_every_size(enumeration, 1);
    oom->request.class = REQUEST_PROGRAM;
    oom->evicts = !evicts;
    oom->program_evicts_program = evicts;
    const uint64_t stack_max = level->is_brief ? BRIEF_STACK_MAX : oom->capacity_bytes / G;
    for (uint64_t stack = level->is_brief; stack <= stack_max; stack++) {
        oom->request.stack_bytes = stack * G;
        ask_every_size(enumeration, 0);
    }
}

static void ask_every_contract(struct enumeration *enumeration)
{
    struct oom *oom = &enumeration->small.oom;
    const bool is_brief = enumeration->level->is_brief;
    const bool drain_matters = !is_brief || has_queued_free(&enumeration->small);
    const bool evict_matters = !is_brief || has_evictable(&enumeration->small);
    enumeration->tally.heaps++;
    for (int defrag = DEFRAG_NONE; defrag <= DEFRAG_REPACK; defrag++) {
        for (int drains = !drain_matters; drains <= 1; drains++) {
            for (int evicts = !evict_matters; evicts <= 1; evicts++) {
                oom->defrag = (enum defrag_contract)defrag;
                oom->drains = drains;
                ask_every_request(enumeration, evicts);
            }
        }
    }
}

/* --- every heap --- */

/* A state for the next block; NULL: this choice has none, because there is an own program already.
 */
static const struct small_state *choose_state(struct enumeration *enumeration, size_t choice)
{
    const bool has_own = enumeration->small.oom.request.own_op != OP_NONE;
    if (!enumeration->level->is_by_class) {
        return has_own && small_states[choice].is_own ? NULL : &small_states[choice];
    }
    const char *members = classes[choice];
    size_t count = strlen(members);
    /* The own program is the last member of its class. */
    count -= has_own && small_state(members[count - 1])->is_own;
    return small_state(members[random_derive(enumeration->turn++, choice) % count]);
}

/* All heaps whose next block begins at or after `from`. */
static void enumerate_heaps(struct enumeration *enumeration, uint64_t from)
{
    struct small_oom *small = &enumeration->small;
    const uint64_t granules = small->oom.capacity_bytes / G;
    const size_t choices = enumeration->level->is_by_class ? (size_t)CLASS_COUNT
                                                           : (size_t)SMALL_STATE_COUNT;
    if (enumeration->heaps_met++ % enumeration->stride == 0) {
        ask_every_contract(enumeration);
    }
    for (uint64_t start = from;
         start < granules && small->oom.block_count < enumeration->level->blocks_max; start++) {
        for (uint64_t size = 1; start + size <= granules; size++) {
            for (size_t choice = 0; choice < choices; choice++) {
                const struct small_state *state = choose_state(enumeration, choice);
                if (state != NULL) {
                    small_oom_add(small, state, start, size);
                    enumerate_heaps(enumeration, start + size);
                    small_oom_drop(small);
                }
            }
        }
    }
}

EVERY_TEST(.timeout_s = 3600);

TEST(every_small_heap_is_judged_as_by_trying_everything, .to = LEVEL_COUNT)
{
    const struct level *level = &levels[_i];
    const uint64_t stride = draws_period() == 1 ? level->stride_full : level->stride_short;
    struct enumeration enumeration = {.level = level, .stride = is_long() ? 1 : stride};
    enumeration.tally.oracle = oracle_create();
    for (uint64_t granules = level->granules_min; granules <= level->granules_max; granules++) {
        small_oom_init(&enumeration.small, &(struct oom){0}, granules);
        enumerate_heaps(&enumeration, 0);
    }
    printf("small heaps, %s, %" PRIu64 " to %" PRIu64
           " granules, up to %zu blocks, one heap of %" PRIu64 ":",
           level->name, level->granules_min, level->granules_max, level->blocks_max,
           enumeration.stride);
    print_tally(&enumeration.tally);
    oracle_destroy(enumeration.tally.oracle);
}

/* --- alignments, refused calls and somewhat larger heaps, by chance --- */

static void draw_block(struct random *random, struct small_oom *small, uint64_t *end)
{
    const struct small_state *state = &small_states[random_below(random, SMALL_STATE_COUNT)];
    const uint64_t align = UINT64_C(1) << random_weighted(random, (uint32_t[]){6, 2, 1}, 3);
    const uint64_t start = (*end + random_weighted(random, (uint32_t[]){6, 2, 1}, 3) + align - 1) /
                           align * align;
    const uint64_t size = random_between(random, 1, 3);
    if (state->is_own && small->oom.request.own_op != OP_NONE) {
        return;
    }
    small_oom_add(small, state, start, size);
    small->blocks[small->oom.block_count - 1].align_bytes = align * G;
    *end = start + size;
}

static void draw_oom(struct random *random, struct small_oom *small)
{
    const bool is_program = random_chance(random, 1, 3);
    const struct oom like = {
        .defrag = (enum defrag_contract)random_below(random, 3),
        .drains = random_chance(random, 1, 2),
        .evicts = random_chance(random, 1, 2),
        .program_evicts_program = random_chance(random, 1, 2),
        .faults_fired = random_chance(random, 1, 4)
                            ? (uint32_t)random_below(random, 1u << FAULT_CALL_COUNT)
                            : 0,
        .request = {.class = is_program ? REQUEST_PROGRAM : REQUEST_BUFFER,
                    .size_bytes = random_below(random, 5 * G) + !is_program,
                    .align_bytes = (uint64_t)G << random_weighted(random, (uint32_t[]){6, 2, 1}, 3),
                    .stack_bytes = is_program ? random_below(random, 4) * G : 0},
    };
    uint64_t end = random_below(random, 4);
    small_oom_init(small, &like, 0);
    for (uint64_t blocks = random_between(random, 1, BLOCKS_DRAWN_MAX); blocks > 0; blocks--) {
        draw_block(random, small, &end);
    }
    small->oom.capacity_bytes = (end + random_below(random, 3)) * G;
}

TEST(heaps_with_alignments_and_refused_calls_are_judged_and_proved_as_by_trying_everything)
{
    struct tally tally = {.oracle = oracle_create()};
    struct random random;
    struct small_oom small;
    random_init(&random, 1);
    const uint64_t count = is_long() ? DRAWN_LONG : draws_count(DRAWN, 1);
    while (tally.heaps < count) {
        draw_oom(&random, &small);
        tally.heaps++;
        if (exhaustive_judge(&small.oom) == VERDICT_NONE) {
            continue;
        }
        struct verdict verdict = {0};
        ask_question(&tally, &small);
        const struct proof *proof = oracle_prove(tally.oracle, &small.oom, 0, &verdict);
        if (verdict.kind != exhaustive_judge(&small.oom) || proof->claim != verdict.kind) {
            report_disagreement(&small, verdict.kind, exhaustive_judge(&small.oom));
        }
    }
    printf("small heaps by chance, up to %d blocks:", BLOCKS_DRAWN_MAX);
    print_tally(&tally);
    oracle_destroy(tally.oracle);
}
