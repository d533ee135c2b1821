/* Related states have one verdict: the oracle keeps every relation, the exhaustive judge agrees
 * that they are related, and a judge that breaks one is found out. */
#include "harness/oracle/relations.h"

#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/shown.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    G = SMALL_GRANULE,
    DRAW_COUNT = 20000,
    TIGHT_COUNT = 2000,
    ALIGNED_COUNT = 400,
    NODES_MAX = 20000
};

/* --- judges --- */

static enum verdict_kind ask_oracle(void *context, const struct oom *oom, uint64_t nodes_max)
{
    struct verdict verdict = {.kind = VERDICT_NONE};
    oracle_judge(context, oom, nodes_max, &verdict);
    return verdict.kind;
}

static enum verdict_kind contradict(const struct oom *oom)
{
    const enum verdict_kind kind = exhaustive_judge(oom);
    return kind == VERDICT_JUSTIFIED ? VERDICT_PREMATURE : VERDICT_JUSTIFIED;
}

/* A judge is right but for what it should not look at: names, granules, places, or how much is
 * asked. */
struct flaw {
    enum { NAMES, SIZES, PLACES, REQUESTS } kind;
    uint64_t usual_bytes; /* of a request */
};

static enum verdict_kind judge_with_flaw(void *context, const struct oom *oom, uint64_t nodes_max)
{
    const struct flaw *flaw = context;
    const bool is_usual[] = {
        [NAMES] =
            oom->blocks[0]
                .op<1000, [SIZES] = oom->granule_bytes == G, [PLACES] = oom->blocks[0].size_bytes>
                    oom->granule_bytes,
        [REQUESTS] = oom->request.size_bytes == flaw->usual_bytes || oom->granule_bytes != G};
    (void)nodes_max;
    return is_usual[flaw->kind] ? exhaustive_judge(oom) : contradict(oom);
}

static enum verdict_kind know_nothing(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)context;
    (void)oom;
    (void)nodes_max;
    return VERDICT_UNKNOWN;
}

static struct relations relations;
static struct small_oom small;

static void end_relations(void)
{
    relations_deinit(&relations);
    snap_rest();
}

/* --- who is found out --- */

static enum relation find_broken(const char *drawing, uint64_t size_bytes,
                                 const struct relation_judge *judge)
{
    uint32_t asked_count = 0;
    enum verdict_kind answer = VERDICT_NONE;
    const struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = size_bytes}};
    small_oom_draw(&small, &like, drawing);
    const struct verdict verdict = {.kind = exhaustive_judge(&small.oom), .nodes_max = NODES_MAX};
    const enum relation broken = relations_find_broken(&relations, &small.oom, &verdict, judge,
                                                       &asked_count, &answer);
    ck_assert_uint_gt(asked_count, 0);
    ck_assert(broken == RELATION_NONE || answer != verdict.kind);
    return broken;
}

EVERY_TEST(.timeout_s = 120);

static const enum relation broken_by[] = {RELATION_RENAMED, RELATION_DOUBLED, RELATION_PERMUTED,
                                          RELATION_RESIZED};

TEST(a_judge_that_breaks_a_relation_is_found_out, .to = 8, .teardown = end_relations)
{
    const uint64_t bytes = (_i % 2 == 0 ? 4 : 2) * G;
    struct flaw flaw = {_i / 2, bytes};
    ck_assert_int_eq(
        find_broken("hh.m..hm.", bytes, &(struct relation_judge){&flaw, judge_with_flaw}),
        broken_by[flaw.kind]);
}

TEST(an_unknown_verdict_contradicts_nothing, .teardown = end_relations)
{
    struct flaw places = {.kind = PLACES};
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &(struct relation_judge){NULL, know_nothing}),
                     RELATION_NONE);
    relations_deinit(&relations);
    relations = (struct relations){0};
    uint32_t asked_count = 9;
    enum verdict_kind answer = VERDICT_NONE;
    const struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = 2 * G}};
    small_oom_draw(&small, &like, "hh.m..hm.");
    const struct verdict unknown = {.kind = VERDICT_UNKNOWN, .nodes_max = NODES_MAX};
    ck_assert_int_eq(relations_find_broken(&relations, &small.oom, &unknown,
                                           &(struct relation_judge){&places, judge_with_flaw},
                                           &asked_count, &answer),
                     RELATION_NONE);
    ck_assert_uint_eq(asked_count, 0);
}

/* --- what is made --- */

static const struct oom *make(enum verdict_kind kind, enum relation relation)
{
    return relations_make(&relations, &small.oom, kind, relation);
}

/* A drawing, and where the blocks of that size lie in the permuted state: the granule. */
static void show_permuted(const char *drawing, const struct oom *like)
{
    small_oom_draw(&small, like, drawing);
    const struct oom *made = make(VERDICT_JUSTIFIED, RELATION_PERMUTED);
    show("%s ->%s", drawing, made == NULL ? " none" : "");
    for (size_t i = 0; made != NULL && i < made->block_count; i++) {
        show(" %" PRIu64 "+%" PRIu64, made->blocks[i].address / G, made->blocks[i].size_bytes / G);
    }
    show("\n");
}

TEST(spans_change_places_with_what_lies_in_them, .teardown = end_relations)
{
    static const char *const drawings[] = {"hh.m..hm.", "..h",      ".m.h",   ".m.",  "d.hhm.",
                                           "m.y..h.",   "..hhm...", "..hm..", "..hm", "..hhm.."};
    struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = G}};
    for (unsigned i = 0; i < 10; i++) {
        like.drains = i >= 4;
        /* Under the stack of an execution that never ends what moves stays where it is. */
        like.request.align_bytes = i > 5 ? 2 * G : 0;
        show_permuted(drawings[i], &like);
    }
}

static void show_resized(enum verdict_kind kind)
{
    const struct oom *made = make(kind, RELATION_RESIZED);
    show("%s %" PRIu64 " on %" PRIu64 ": ", verdict_name(kind), small.oom.request.size_bytes,
         small.oom.request.stack_bytes);
    if (made == NULL) {
        show("none\n");
    } else {
        show("%" PRIu64 " on %" PRIu64 "\n", made->request.size_bytes, made->request.stack_bytes);
    }
}

TEST(a_request_is_resized_towards_the_verdict, .teardown = end_relations)
{
    static const struct oom_request requests[] = {
        {.size_bytes = 3 * G, .align_bytes = G, .own_op = OP_NONE},
        {.class = REQUEST_PROGRAM, .align_bytes = G, .stack_bytes = 2 * G, .own_op = OP_NONE},
        {.align_bytes = G},
        {.size_bytes = G, .align_bytes = G},
        {.size_bytes = UINT64_MAX, .align_bytes = G}};
    small_oom_draw(&small, &(struct oom){.defrag = DEFRAG_NONE}, "m....");
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        small.oom.request = requests[i];
        show_resized(VERDICT_JUSTIFIED);
        show_resized(VERDICT_PREMATURE);
    }
}

TEST(numbers_that_cannot_be_doubled_have_no_double, .teardown = end_relations)
{
    const uint64_t most = UINT64_MAX / 8;
    small_oom_draw(&small, &(struct oom){.request = {.size_bytes = G}}, "m.");
    small.oom.capacity_bytes = small.oom.request.align_bytes = most;
    small.oom.request.size_bytes = UINT64_MAX / 2 + 1;
    const struct oom *made = make(VERDICT_JUSTIFIED, RELATION_DOUBLED);
    ck_assert_uint_eq(made->capacity_bytes, 2 * most);
    ck_assert_uint_eq(made->request.align_bytes, 2 * most);
    ck_assert_uint_eq(made->request.size_bytes, UINT64_MAX);
    small.oom.request.align_bytes = most + 1;
    ck_assert_ptr_null(make(VERDICT_JUSTIFIED, RELATION_DOUBLED));
    small.oom.request.align_bytes = most;
    small.oom.capacity_bytes = most + 1;
    ck_assert_ptr_null(make(VERDICT_JUSTIFIED, RELATION_DOUBLED));
    ck_assert_ptr_null(make(VERDICT_PREMATURE, RELATION_NONE)); /* a state as it is */
}

/* --- how much is asked --- */

static enum verdict_kind note_budget(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)oom;
    *(uint64_t *)context = nodes_max;
    return VERDICT_UNKNOWN;
}

TEST(a_question_has_twice_the_nodes_that_the_verdict_took, .teardown = end_relations)
{
    static const struct {
        uint64_t nodes, nodes_max, budget;
    } rows[] = {
        {0, UINT64_C(1) << 40, 1 << 18},
        {1 << 17, UINT64_C(1) << 40, 1 << 18},
        {(1 << 17) + 1, UINT64_C(1) << 40, (1 << 18) + 2},
        {1 << 20, UINT64_C(1) << 40, 1 << 21},
        {1 << 20, (1 << 21) - 1, (1 << 21) - 1},
        {0, 9, 9},
    };
    small_oom_draw(&small, &(struct oom){.request = {.size_bytes = G}}, "hm.");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t budget = 0;
        uint32_t asked_count = 0;
        enum verdict_kind answer = VERDICT_NONE;
        const struct verdict verdict = {
            .kind = VERDICT_PREMATURE, .nodes = rows[i].nodes, .nodes_max = rows[i].nodes_max};
        const struct relation_judge judge = {&budget, note_budget};
        ck_assert_int_eq(
            relations_find_broken(&relations, &small.oom, &verdict, &judge, &asked_count, &answer),
            RELATION_NONE);
        ck_assert_uint_eq(budget, rows[i].budget);
    }
}

TEST(so_many_blocks_are_asked_about_and_no_more, .teardown = end_relations)
{
    struct oom oom = {.capacity_bytes = (uint64_t)(RELATIONS_BLOCKS_MAX + 1) * G,
                      .granule_bytes = G,
                      .request = {.size_bytes = G, .align_bytes = G, .own_op = OP_NONE},
                      .block_count = RELATIONS_BLOCKS_MAX};
    uint64_t budget = 0;
    const struct relation_judge judge = {&budget, note_budget};
    const struct verdict verdict = {.kind = VERDICT_JUSTIFIED, .nodes_max = NODES_MAX};
    oom.blocks = calloc(RELATIONS_BLOCKS_MAX + 1, sizeof *oom.blocks);
    ck_assert_ptr_nonnull(oom.blocks);
    for (uint32_t i = 0; i <= RELATIONS_BLOCKS_MAX; i++) {
        oom.blocks[i] = (struct oom_block){
            .address = (uint64_t)i * G, .size_bytes = G, .align_bytes = G, .op = i};
    }
    for (int more = 0; more < 2; more++) {
        uint32_t asked_count = 9;
        enum verdict_kind answer = VERDICT_NONE;
        oom.block_count += (size_t)more;
        ck_assert_int_eq(
            relations_find_broken(&relations, &oom, &verdict, &judge, &asked_count, &answer),
            RELATION_NONE);
        ck_assert_int_eq(asked_count > 0, more == 0);
    }
    free(oom.blocks);
}

/* --- drawn states --- */

/* Also by the judge that tries everything, where it can. */
struct tally {
    struct oracle *oracle;
    struct relations relations;
    uint64_t asked[RELATION_COUNT], tried[RELATION_COUNT];
};

static void check_relation(struct tally *tally, const struct oom *oom, enum verdict_kind kind,
                           enum relation relation)
{
    const struct oom *other = relations_make(&tally->relations, oom, kind, relation);
    if (other == NULL) {
        return;
    }
    for (size_t i = 0; i < other->block_count; i++) {
        const struct oom_block *block = &other->blocks[i];
        if (!oom_block_is_absent(block)) {
            ck_assert_uint_eq(block->address % block->align_bytes, 0);
            ck_assert_uint_le(block->address + block->size_bytes, other->capacity_bytes);
            ck_assert(i == 0 || block->address >= block[-1].address + block[-1].size_bytes);
        }
    }
    const enum verdict_kind answer = ask_oracle(tally->oracle, other, NODES_MAX);
    ck_assert_msg(answer == kind || answer == VERDICT_UNKNOWN, "%s, but %s %s", verdict_name(kind),
                  verdict_name(answer), relation_words(relation));
    tally->asked[relation]++;
    const enum verdict_kind tried = exhaustive_judge(other);
    if (tried != VERDICT_NONE) {
        ck_assert_int_eq(tried, kind);
        tally->tried[relation]++;
    }
}

static void check_drawn(struct tally *tally, const struct oom *oom)
{
    const enum verdict_kind kind = ask_oracle(tally->oracle, oom, NODES_MAX);
    for (unsigned i = 1; i < RELATION_COUNT && kind != VERDICT_UNKNOWN; i++) {
        check_relation(tally, oom, kind, (enum relation)i);
    }
}

static void draw_any(struct random *random, uint64_t index, struct oom *oom)
{
    const struct random_oom_wish few = {24, 8, index % 2 == 0};
    const struct random_oom_wish many = {400, 60, index % 2 == 0};
    random_oom_draw(random, index % 4 < 2 ? &few : &many, oom);
}
static void draw_tight(struct random *random, uint64_t index, struct oom *oom)
{
    random_oom_draw_tight(random, index % 2 == 0, oom);
}
static void draw_aligned(struct random *random, uint64_t index, struct oom *oom)
{
    random_oom_draw_aligned(random, 1 + index % 12, oom);
}

static const struct drawn {
    const char *name;
    void (*draw)(struct random *random, uint64_t index, struct oom *oom);
    uint64_t count;
    uint64_t asked_min, tried_min; /* of each relation */
} drawings[] = {{"any states", draw_any, DRAW_COUNT, 8000, 7000},
                {"tight states", draw_tight, TIGHT_COUNT, 900, 40},
                /* Spans seldom move by a multiple of 2 MiB. */
                {"aligned states", draw_aligned, ALIGNED_COUNT, 3, 0}};

static void check_asked(const struct tally *tally, const struct drawn *drawn)
{
    for (unsigned i = 1; i < RELATION_COUNT; i++) {
        printf("relations of %s, %s: %" PRIu64 " asked, %" PRIu64 " tried\n", drawn->name,
               relation_words((enum relation)i), tally->asked[i], tally->tried[i]);
        ck_assert_uint_ge(tally->asked[i], drawn->asked_min);
        ck_assert_uint_ge(tally->tried[i], drawn->tried_min);
    }
}

TEST(related_states_have_one_verdict, .to = sizeof drawings / sizeof drawings[0])
{
    struct random random;
    struct oom oom = {0};
    struct tally tally = {.oracle = oracle_create()};
    const struct drawn *drawn = &drawings[_i];
    for (uint64_t i = 0; i < drawn->count; i++) {
        random_init(&random, random_derive(7, i));
        drawn->draw(&random, i, &oom);
        check_drawn(&tally, &oom);
    }
    check_asked(&tally, drawn);
    oracle_destroy(tally.oracle);
    relations_deinit(&tally.relations);
    oom_deinit(&oom);
}
