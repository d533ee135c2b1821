/* Related states have one verdict: the oracle keeps every relation, the exhaustive judge agrees
 * that they are related, and a judge that breaks one is found out. */
#include "harness/oracle/relations.h"

#include "harness/oracle/exhaustive.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/oracle/random_oom.h"
#include "tests/harness/oracle/small_oom.h"
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

/* Each is right but for what it should not look at. */
static enum verdict_kind read_names(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)context;
    (void)nodes_max;
    return oom->blocks[0].op < 1000 ? exhaustive_judge(oom) : contradict(oom);
}

static enum verdict_kind read_sizes(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)context;
    (void)nodes_max;
    return oom->granule_bytes == G ? exhaustive_judge(oom) : contradict(oom);
}

static enum verdict_kind read_places(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)context;
    (void)nodes_max;
    const bool is_tall = oom->blocks[0].size_bytes > oom->granule_bytes;
    return is_tall ? exhaustive_judge(oom) : contradict(oom);
}

static enum verdict_kind grant_large(void *context, const struct oom *oom, uint64_t nodes_max)
{
    const uint64_t *usual_bytes = context;
    (void)nodes_max;
    const bool is_usual = oom->request.size_bytes == *usual_bytes || oom->granule_bytes != G;
    return is_usual ? exhaustive_judge(oom) : contradict(oom);
}

static enum verdict_kind know_nothing(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)context;
    (void)oom;
    (void)nodes_max;
    return VERDICT_UNKNOWN;
}

/* --- who is found out --- */

static enum relation find_broken(const char *drawing, uint64_t size_bytes,
                                 const struct relation_judge *judge)
{
    struct small_oom small;
    struct relations relations = {0};
    uint32_t asked_count = 0;
    enum verdict_kind answer = VERDICT_NONE;
    const struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = size_bytes}};
    small_oom_draw(&small, &like, drawing);
    const struct verdict verdict = {.kind = exhaustive_judge(&small.oom), .nodes_max = NODES_MAX};
    const enum relation broken = relations_find_broken(&relations, &small.oom, &verdict, judge,
                                                       &asked_count, &answer);
    ck_assert_uint_gt(asked_count, 0);
    ck_assert(broken == RELATION_NONE || answer != verdict.kind);
    relations_deinit(&relations);
    return broken;
}

EVERY_TEST(.timeout_s = 120);

TEST(a_judge_that_breaks_a_relation_is_found_out)
{
    uint64_t large = 4 * G;
    uint64_t small = 2 * G;
    const struct relation_judge names = {NULL, read_names};
    const struct relation_judge sizes = {NULL, read_sizes};
    const struct relation_judge places = {NULL, read_places};
    const struct relation_judge greedy = {&large, grant_large};
    const struct relation_judge frugal = {&small, grant_large};
    ck_assert_int_eq(find_broken("hh.m..hm.", 4 * G, &names), RELATION_RENAMED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &names), RELATION_RENAMED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 4 * G, &sizes), RELATION_DOUBLED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &sizes), RELATION_DOUBLED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 4 * G, &places), RELATION_PERMUTED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &places), RELATION_PERMUTED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 4 * G, &greedy), RELATION_RESIZED);
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &frugal), RELATION_RESIZED);
}

TEST(an_unknown_verdict_contradicts_nothing)
{
    const struct relation_judge judge = {NULL, know_nothing};
    struct small_oom small;
    struct relations relations = {0};
    uint32_t asked_count = 9;
    enum verdict_kind answer = VERDICT_NONE;
    const struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = 2 * G}};
    ck_assert_int_eq(find_broken("hh.m..hm.", 2 * G, &judge), RELATION_NONE);
    small_oom_draw(&small, &like, "hh.m..hm.");
    const struct verdict unknown = {.kind = VERDICT_UNKNOWN, .nodes_max = NODES_MAX};
    ck_assert_int_eq(relations_find_broken(&relations, &small.oom, &unknown,
                                           &(struct relation_judge){NULL, read_places},
                                           &asked_count, &answer),
                     RELATION_NONE);
    ck_assert_uint_eq(asked_count, 0);
    relations_deinit(&relations);
}

/* --- what is made --- */

static void expect_permuted(const char *drawing, const struct oom *like, const char *expected)
{
    struct small_oom small;
    struct small_oom wanted;
    struct relations relations = {0};
    small_oom_draw(&small, like, drawing);
    const struct oom *made = relations_make(&relations, &small.oom, VERDICT_JUSTIFIED,
                                            RELATION_PERMUTED);
    ck_assert_msg((made == NULL) == (expected == NULL), "%s", drawing);
    if (expected != NULL) {
        small_oom_draw(&wanted, like, expected);
        ck_assert_uint_eq(made->block_count, wanted.oom.block_count);
        for (size_t i = 0; i < made->block_count; i++) {
            ck_assert_msg(made->blocks[i].address == wanted.blocks[i].address, "%s: block %zu",
                          drawing, i);
            ck_assert_uint_eq(made->blocks[i].size_bytes, wanted.blocks[i].size_bytes);
        }
    }
    relations_deinit(&relations);
}

TEST(spans_change_places_with_what_lies_in_them)
{
    struct oom like = {.defrag = DEFRAG_REPACK, .request = {.size_bytes = G}};
    expect_permuted("hh.m..hm.", &like, "m.h.m..hh");
    expect_permuted("..h", &like, "h..");
    expect_permuted(".m.h", &like, "h.m.");
    expect_permuted(".m.", &like, NULL);
    like.drains = true;
    expect_permuted("d.hhm.", &like, "m.hhd.");
    /* Under the stack of an execution that never ends what moves stays where it is. */
    expect_permuted("m.y..h.", &like, "m.y.h..");
    like.request.align_bytes = 2 * G;
    expect_permuted("..hhm...", &like, "m...hh..");
    expect_permuted("..hm..", &like, NULL);
    expect_permuted("..hm", &like, NULL);
    expect_permuted("..hhm..", &like, NULL);
}

TEST(a_request_is_resized_towards_the_verdict)
{
    struct small_oom small;
    struct relations relations = {0};
    struct oom like = {.request = {.size_bytes = 3 * G}};
    small_oom_draw(&small, &like, "m....");
    const struct oom *made = relations_make(&relations, &small.oom, VERDICT_JUSTIFIED,
                                            RELATION_RESIZED);
    ck_assert_uint_eq(made->request.size_bytes, 11 * G);
    made = relations_make(&relations, &small.oom, VERDICT_PREMATURE, RELATION_RESIZED);
    ck_assert_uint_eq(made->request.size_bytes, G);
    small.oom.request = (struct oom_request){
        .class = REQUEST_PROGRAM, .align_bytes = G, .stack_bytes = 2 * G, .own_op = OP_NONE};
    made = relations_make(&relations, &small.oom, VERDICT_JUSTIFIED, RELATION_RESIZED);
    ck_assert_uint_eq(made->request.size_bytes, 0);
    ck_assert_uint_eq(made->request.stack_bytes, 3 * G);
    made = relations_make(&relations, &small.oom, VERDICT_PREMATURE, RELATION_RESIZED);
    ck_assert_uint_eq(made->request.stack_bytes, G);
    small.oom.request = (struct oom_request){.align_bytes = G};
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_JUSTIFIED, RELATION_RESIZED));
    small.oom.request = (struct oom_request){.size_bytes = G, .align_bytes = G};
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_PREMATURE, RELATION_RESIZED));
    small.oom.request.size_bytes = UINT64_MAX;
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_JUSTIFIED, RELATION_RESIZED));
    relations_deinit(&relations);
}

TEST(numbers_that_cannot_be_doubled_have_no_double)
{
    struct small_oom small;
    struct relations relations = {0};
    const uint64_t most = UINT64_MAX / 8;
    small_oom_draw(&small, &(struct oom){.request = {.size_bytes = G}}, "m.");
    small.oom.capacity_bytes = most;
    small.oom.request.align_bytes = most;
    small.oom.request.size_bytes = UINT64_MAX / 2 + 1;
    const struct oom *made = relations_make(&relations, &small.oom, VERDICT_JUSTIFIED,
                                            RELATION_DOUBLED);
    ck_assert_uint_eq(made->capacity_bytes, 2 * most);
    ck_assert_uint_eq(made->request.align_bytes, 2 * most);
    ck_assert_uint_eq(made->request.size_bytes, UINT64_MAX);
    small.oom.request.align_bytes = most + 1;
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_JUSTIFIED, RELATION_DOUBLED));
    small.oom.request.align_bytes = most;
    small.oom.capacity_bytes = most + 1;
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_JUSTIFIED, RELATION_DOUBLED));
    relations_deinit(&relations);
}

TEST(a_state_as_it_is_has_no_related_one)
{
    struct small_oom small;
    struct relations relations = {0};
    small_oom_draw(&small, &(struct oom){.request = {.size_bytes = G}}, "hm.");
    ck_assert_ptr_null(relations_make(&relations, &small.oom, VERDICT_PREMATURE, RELATION_NONE));
    relations_deinit(&relations);
}

/* --- how much is asked --- */

static enum verdict_kind note_budget(void *context, const struct oom *oom, uint64_t nodes_max)
{
    (void)oom;
    *(uint64_t *)context = nodes_max;
    return VERDICT_UNKNOWN;
}

TEST(a_question_has_twice_the_nodes_that_the_verdict_took)
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
    struct small_oom small;
    struct relations relations = {0};
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
    relations_deinit(&relations);
}

TEST(so_many_blocks_are_asked_about_and_no_more)
{
    struct oom oom = {.capacity_bytes = (uint64_t)(RELATIONS_BLOCKS_MAX + 1) * G,
                      .granule_bytes = G,
                      .request = {.size_bytes = G, .align_bytes = G, .own_op = OP_NONE},
                      .block_count = RELATIONS_BLOCKS_MAX};
    struct relations relations = {0};
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
    relations_deinit(&relations);
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
    const struct random_oom_wish small = {24, 8, index % 2 == 0};
    const struct random_oom_wish large = {400, 60, index % 2 == 0};
    random_oom_draw(random, index % 4 < 2 ? &small : &large, oom);
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
