/* How large a block may be: the published function and its text, the rule that holds answers to it,
 * and out-of-memories that are judged as if every block had the size that was promised. */
#include "checker/certificate_check.h"
#include "harness/base/random.h"
#include "harness/device/timeline.h"
#include "harness/model/model_update.h"
#include "harness/op/rounding.h"
#include "harness/oracle/oracle.h"
#include "tests/harness/run/scripted_target.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct target_rounding parse(const char *text)
{
    struct target_rounding rounding = {0};
    struct rounding_error error = {0};
    ck_assert_msg(rounding_parse(text, strlen(text), &rounding, &error), "%s: %s", text,
                  error.reason);
    return rounding;
}

/* --- the function --- */

#define HIGHEST ROUNDING_BYTES_MAX

static const struct {
    const char *rounding;
    uint64_t granule, asked, most;
} vectors[] = {
    {"granule", 512, 1, 512},
    {"granule", 512, 512, 512},
    {"granule", 512, 513, 1024},
    {"granule", 1, 513, 513},
    /* A header of 16 bytes; a remainder of up to 4096 that is not split off. */
    {"granule overhead=16", 512, 496, 512},
    {"granule overhead=16", 512, 512, 1024},
    {"granule overhead=4K", 512, 1, 5120 - 512},
    {"granule overhead=4K", 512, 512, 5120 - 512},
    /* Powers of two. */
    {"classes=1", 1, 1, 1},
    {"classes=1", 1, 2, 2},
    {"classes=1", 1, 3, 4},
    {"classes=1", 512, 3, 512},
    {"classes=1", 512, 1025, 2048},
    {"classes=1 smallest=64K", 512, 1, 65536},
    {"classes=1 smallest=64K", 512, 65536, 65536},
    {"classes=1 smallest=64K", 512, 65537, 131072},
    /* jemalloc: four in each doubling, quantum 16: 16, 32, 48, 64, 80, 96, 112, 128, 160, … */
    {"classes=4", 16, 1, 16},
    {"classes=4", 16, 33, 48},
    {"classes=4", 16, 49, 64},
    {"classes=4", 16, 65, 80},
    {"classes=4", 16, 128, 128},
    {"classes=4", 16, 129, 160},
    {"classes=4", 16, 161, 192},
    {"classes=4", 16, 257, 320},
    {"classes=4", 16, 14337, 16384},
    {"classes=4", 16, (4 << 20) + 1, 5 << 20},
    /* OffsetAllocator: a float of three bits of mantissa: each number up to 16, then eight. */
    {"classes=8", 1, 15, 15},
    {"classes=8", 1, 16, 16},
    {"classes=8", 1, 17, 18},
    {"classes=8", 1, 118, 120},
    {"classes=8", 1, 1024, 1024},
    {"classes=8", 1, 1025, 1152},
    {"classes=8", 1, 65537, 73728},
    {"classes=8", 1, 529445, 589824},
    {"classes=64", 512, 65537, 66560},
    {"classes=64", 512, 100 << 20, 100 << 20},
    {"classes=8 smallest=5000", 512, 1, 5120},
    {"classes=8 smallest=5000 overhead=512", 512, 5000, 5632},
    /* No block is larger than 2^63. */
    {"granule", 512, HIGHEST - 1, HIGHEST},
    {"granule", 512, HIGHEST, HIGHEST},
    {"granule overhead=1P", 512, HIGHEST - 1, HIGHEST},
    {"classes=1", 512, HIGHEST / 2 + 1, HIGHEST},
    {"classes=8", 512, HIGHEST - 1, HIGHEST},
    {"classes=64 overhead=1P", 512, HIGHEST, HIGHEST},
    {"classes=64", 512, UINT64_MAX, HIGHEST},
    {"any", 512, 1, UINT64_MAX},
    {"any", 512, HIGHEST, UINT64_MAX},
};

TEST(a_block_is_at_most_its_class_and_the_overhead, .to = sizeof vectors / sizeof vectors[0])
{
    const struct target_rounding rounding = parse(vectors[_i].rounding);
    const uint64_t most = rounding_bytes_max(&rounding, vectors[_i].granule, vectors[_i].asked);
    ck_assert_msg(most == vectors[_i].most, "%s: %llu of %llu, not %llu", vectors[_i].rounding,
                  (unsigned long long)most, (unsigned long long)vectors[_i].asked,
                  (unsigned long long)vectors[_i].most);
}

/* The same by counting: from the power of two below, step by step. */
static uint64_t count_up_to_class(uint64_t asked, uint64_t steps)
{
    uint64_t low = 1;
    while (low * 2 < asked) {
        low *= 2;
    }
    uint64_t size = low;
    while (size < asked) {
        size += low > steps ? low / steps : 1;
    }
    return size;
}

TEST(classes_split_each_doubling_into_equal_parts)
{
    struct random random;
    random_init(&random, 5);
    for (int i = 0; i < 20000; i++) {
        const struct target_rounding rounding = {.kind = ROUNDING_CLASSES,
                                                 .steps = UINT32_C(1) << random_below(&random, 7)};
        const uint64_t asked = (random_bits(&random) >> random_between(&random, 2, 62)) + 1;
        const uint64_t size = rounding_bytes_max(&rounding, 1, asked);
        ck_assert_uint_eq(size, count_up_to_class(asked, rounding.steps));
        ck_assert_uint_eq(rounding_bytes_max(&rounding, 1, size), size);
    }
}

TEST(a_request_needs_what_it_asked_where_nothing_else_is_promised)
{
    const struct target_rounding plain = parse("granule");
    const struct target_rounding any = parse("any");
    const struct target_rounding classes = parse("classes=1 overhead=512");
    const struct target_rounding header = parse("granule overhead=16");
    ck_assert_uint_eq(rounding_bytes_needed(&plain, 512, 700), 700);
    ck_assert_uint_eq(rounding_bytes_needed(&any, 512, 700), 700);
    ck_assert_uint_eq(rounding_bytes_needed(&classes, 512, 700), 1536);
    ck_assert_uint_eq(rounding_bytes_needed(&header, 512, 700), 1024);
    ck_assert_uint_eq(rounding_bytes_needed(&classes, 512, HIGHEST), HIGHEST);
}

/* --- its text --- */

TEST(the_text_of_a_rounding_reads_back)
{
    static const char *const texts[] = {"granule",
                                        "granule overhead=16",
                                        "any",
                                        "classes=1",
                                        "classes=64 smallest=4K",
                                        "classes=8 overhead=3M",
                                        "classes=8 smallest=4K overhead=512"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[ROUNDING_TEXT_BYTES];
        const struct target_rounding rounding = parse(texts[i]);
        ck_assert_ptr_null(rounding_flaw(&rounding));
        rounding_print(&rounding, text);
        ck_assert_str_eq(text, texts[i]);
    }
    const struct target_rounding other = parse("  classes=8\toverhead=512  smallest=4096 ");
    char text[ROUNDING_TEXT_BYTES];
    rounding_print(&other, text);
    ck_assert_str_eq(text, "classes=8 smallest=4K overhead=512");
}

static const struct {
    const char *text;
    size_t at;
    const char *reason;
} bad_texts[] = {
    {"", 0, "one of granule, any, classes=N"},
    {"granul", 0, "did you mean 'granule'?"},
    {"  anything", 2, "did you mean 'any'?"},
    {"clases=8", 0, "did you mean 'classes=8'?"},
    {"8", 0, "one of granule, any, classes=N"},
    {"classes=", 8, "write classes=8"},
    {"classes=eight", 8, "write classes=8"},
    {"classes=0", 8, "the nearest is classes=1"},
    {"classes=3", 8, "the nearest is classes=2"},
    {"classes=7", 8, "the nearest is classes=8"},
    {"classes=65", 8, "the nearest is classes=64"},
    {"classes=8 smalest=4K", 10, "neither smallest=SIZE nor overhead=SIZE"},
    {"classes=8 smallest", 10, "neither smallest=SIZE nor overhead=SIZE"},
    {"classes=8 smallest=0", 19, "not a size from 1 to 1P"},
    {"classes=8 smallest=2P", 19, "not a size from 1 to 1P"},
    {"classes=8 smallest=4K smallest=4K", 31, "given twice"},
    {"classes=8 overhead=x", 19, "such as overhead=4K"},
    {"granule smallest=4K", 8, "classes=N alone"},
    {"any overhead=4K", 4, "promises nothing"},
};

TEST(what_is_wrong_with_a_text_is_named_with_its_place,
     .to = sizeof bad_texts / sizeof bad_texts[0])
{
    struct target_rounding rounding = {.kind = ROUNDING_CLASSES, .steps = 4};
    struct rounding_error error = {0};
    const char *text = bad_texts[_i].text;
    ck_assert(!rounding_parse(text, strlen(text), &rounding, &error));
    ck_assert_msg(error.at == bad_texts[_i].at && strstr(error.reason, bad_texts[_i].reason),
                  "'%s' at %zu: %s", text, error.at, error.reason);
    ck_assert_uint_eq(rounding.steps, 4);
}

/* --- contracts --- */

static void start_with(const char *rounding)
{
    prepare();
    script.contract.rounding = parse(rounding);
    start_hosts(1);
}

TEST(a_rounding_that_makes_no_sense_is_refused)
{
    static const struct {
        struct target_rounding rounding;
        const char *reason;
    } flaws[] = {
        {{.kind = (enum rounding_kind)3}, "no known kind"},
        {{.kind = ROUNDING_CLASSES}, "power of two from 1 to 64"},
        {{.kind = ROUNDING_CLASSES, .steps = 6}, "power of two from 1 to 64"},
        {{.kind = ROUNDING_CLASSES, .steps = 128}, "power of two from 1 to 64"},
        {{.kind = ROUNDING_CLASSES, .steps = 8, .smallest_bytes = UINT64_MAX}, "smallest"},
        {{.kind = ROUNDING_GRANULE, .overhead_bytes = UINT64_MAX}, "overhead"},
    };
    for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
        struct setup setup;
        char reason[RUN_REASON_BYTES] = "";
        prepare();
        setup_init(&setup);
        setup.capacity_bytes = 16 * G;
        script.contract.rounding = flaws[i].rounding;
        ck_assert_ptr_null(run_create(&scripted_target, &setup, reason));
        ck_assert_msg(strstr(reason, flaws[i].reason) != NULL, "%zu: %s", i, reason);
    }
}

/* What a run is set up with once the target is open; "" = no rounding. */
static void check_setup(const char *contract, const char *given, const char *expected)
{
    struct setup setup;
    char reason[RUN_REASON_BYTES] = "";
    char text[ROUNDING_TEXT_BYTES] = "";
    prepare();
    setup_init(&setup);
    setup.capacity_bytes = 16 * G;
    script.contract.rounding = parse(contract);
    if (given[0] != '\0') {
        setup.has_rounding = true;
        setup.rounding = parse(given);
    }
    script.run = run_create(&scripted_target, &setup, reason);
    ck_assert_msg(script.run != NULL, "%s", reason);
    const struct setup *completed = run_setup(script.run);
    if (completed->has_rounding) {
        rounding_print(&completed->rounding, text);
    }
    ck_assert_str_eq(text, expected);
    char judged[ROUNDING_TEXT_BYTES];
    rounding_print(&model_contract(run_model(script.run, 0))->rounding, judged);
    ck_assert_str_eq(judged, expected[0] == '\0' ? "granule" : expected);
    stop();
}

TEST(a_run_knows_the_rounding_that_it_judges_by)
{
    check_setup("granule", "", "");
    check_setup("classes=8", "", "classes=8");
    check_setup("granule overhead=16", "", "granule overhead=16");
    check_setup("classes=8", "granule", "granule");
    check_setup("granule", "classes=1", "classes=1");
}

/* --- the rule --- */

/* A request of asked_bytes that gets `size` granules at granule `at`. */
static const struct verdict *get(enum op_kind kind, uint64_t asked_bytes, uint64_t at,
                                 uint64_t size)
{
    struct op op = op_make(kind);
    op.size_bytes = asked_bytes;
    script.block = (struct target_block){next_handle(), at * G, size * G};
    return step(op);
}

TEST(a_block_is_no_larger_than_its_contract_allows)
{
    static const struct {
        const char *rounding;
        uint64_t asked, most; /* granules */
    } rows[] = {
        {"granule", 3 * G, 3},           {"granule", 2 * G + 1, 3},
        {"classes=1", 5 * G, 8},         {"classes=4", 5 * G, 5},
        {"classes=2", 5 * G, 6},         {"granule overhead=1K", 3 * G, 5},
        {"classes=1 smallest=2K", 1, 4},
    };
    static const enum op_kind kinds[] = {OP_ALLOC, OP_OUTPUT, OP_LOAD};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            start_with(rows[i].rounding);
            KEEPS(get(kinds[k], rows[i].asked, 4, rows[i].most));
            stop();
            start_with(rows[i].rounding);
            BREAKS(get(kinds[k], rows[i].asked, 4, rows[i].most + 1), RULE_TOO_LARGE);
            stop();
        }
    }
    start_with("any");
    KEEPS(get(OP_ALLOC, 1, 0, 16));
    stop();
}

TEST(the_reason_names_sizes_and_contract)
{
    start_with("classes=4");
    const struct verdict *verdict = get(OP_ALLOC, 5 * G, 0, 6);
    ck_assert_str_eq(verdict->reason, "the block has 3072 bytes for a request of 2560; its "
                                      "contract (rounding classes=4) allows 2560");
    stop();
}

static void evict_first(void)
{
    (void)unload(0);
}

TEST(a_program_that_is_loaded_again_is_no_larger)
{
    for (uint64_t size = 4; size <= 5; size++) {
        start_with("classes=1");
        KEEPS(get(OP_LOAD, 3 * G, 0, 4));
        script.act = evict_first;
        KEEPS(alloc_at(8, 8));
        script.block = (struct target_block){1, 0, size * G};
        const struct verdict *verdict = on_for(OP_EXECUTE, 0, 10);
        ck_assert_int_eq((int)verdict->rule, (int)(size == 4 ? RULE_NONE : RULE_TOO_LARGE));
        stop();
    }
}

/* --- out-of-memories --- */

/* Two blocks leave a hole of 3 granules, and 7 at the top. */
static void fill_but_three(const char *rounding)
{
    prepare();
    script.contract.rounding = parse(rounding);
    script.contract.defrag = DEFRAG_NONE;
    start_hosts(1);
    KEEPS(alloc_at(0, 4));
    KEEPS(alloc_at(7, 2));
}

TEST(a_request_may_be_refused_where_its_class_does_not_fit)
{
    static const struct {
        const char *rounding;
        uint64_t asked; /* granules */
        enum verdict_kind kind;
    } rows[] = {
        {"granule", 7, VERDICT_PREMATURE},
        {"granule", 8, VERDICT_JUSTIFIED},
        {"any", 7, VERDICT_PREMATURE},
        {"any", 8, VERDICT_JUSTIFIED},
        {"classes=1", 4, VERDICT_PREMATURE},
        {"classes=1", 5, VERDICT_JUSTIFIED},
        {"classes=2", 6, VERDICT_PREMATURE},
        {"classes=2", 7, VERDICT_JUSTIFIED},
        {"granule overhead=512", 6, VERDICT_PREMATURE},
        {"granule overhead=512", 7, VERDICT_JUSTIFIED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fill_but_three(rows[i].rounding);
        const struct verdict *verdict = refuse(rows[i].asked);
        ck_assert_msg(verdict->kind == rows[i].kind, "%s, %d granules: %s, %s", rows[i].rounding,
                      (int)rows[i].asked, verdict_name(verdict->kind), verdict->reason);
        ck_assert_uint_eq(verdict->requested_bytes, rows[i].asked * G);
        stop();
    }
}

TEST(a_stack_alone_needs_no_class)
{
    prepare();
    script.contract.rounding = parse("classes=1");
    script.contract.defrag = DEFRAG_NONE;
    start_hosts(1);
    KEEPS(load_at(8, 4, 8));
    KEEPS(alloc_at(4, 4));
    script.result = TARGET_NO_MEMORY;
    JUDGED(on_for(OP_EXECUTE, 0, 10), VERDICT_JUSTIFIED);
    KEEPS(on(OP_FREE, 1));
    script.result = TARGET_NO_MEMORY;
    JUDGED(on_for(OP_EXECUTE, 0, 10), VERDICT_PREMATURE);
    stop();
}

TEST(a_certificate_names_the_bytes_that_the_contract_needs)
{
    static const struct {
        const char *rounding, *bytes;
    } rows[] = {{"granule", "\"bytes\": 4200,"}, {"classes=1", "\"bytes\": 8192,"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct writing text;
        char reason[CERTIFICATE_REASON_BYTES] = "";
        struct op op = op_make(OP_ALLOC);
        fill_but_three(rows[i].rounding);
        op.size_bytes = 4200;
        script.result = TARGET_NO_MEMORY;
        JUDGED(step(op), VERDICT_JUSTIFIED);
        writing_init(&text);
        run_print_certificate(script.run, &text);
        ck_assert_msg(strstr(writing_string(&text), rows[i].bytes) != NULL, "%s",
                      writing_string(&text));
        ck_assert_msg(certificate_check(text.bytes, text.length, reason) == CERTIFICATE_VALID, "%s",
                      reason);
        writing_deinit(&text);
        stop();
    }
}

TEST(hosts_are_held_against_each_other_by_what_their_classes_need)
{
    prepare();
    script.contract.rounding = parse("classes=1");
    start_hosts(HOST_COUNT);
    /* Nine granules need all sixteen: with one taken on host 1 its refusal is no difference. */
    struct op op = op_make(OP_ALLOC);
    op.size_bytes = G;
    op.host = 1;
    script.block = (struct target_block){next_handle(), 0, G};
    KEEPS(step(op));
    op.size_bytes = 9 * G;
    op.flags = OP_SPMD;
    op.group = 3;
    op.host = 0;
    script.block = (struct target_block){next_handle(), 0, 16 * G};
    KEEPS(step(op));
    op.host = 1;
    script.result = TARGET_NO_MEMORY;
    JUDGED(step(op), VERDICT_JUSTIFIED);
    stop();
}

/* --- blocks that are larger than promised: a trial may go on after one --- */

struct rig {
    struct timeline *timeline;
    struct model *model;
    struct oom oom;
};

static void rig_init(struct rig *rig, const char *rounding, enum defrag_contract defrag)
{
    const struct target_contract contract = {
        .granule_bytes = G, .defrag = defrag, .rounding = parse(rounding)};
    *rig = (struct rig){.timeline = timeline_create()};
    rig->model = model_create(16 * G, &contract, rig->timeline);
}

static void rig_deinit(struct rig *rig)
{
    oom_deinit(&rig->oom);
    model_destroy(rig->model);
    timeline_destroy(rig->timeline);
}

/* Sizes in granules. */
static uint32_t rig_add(struct rig *rig, uint32_t op, enum block_kind kind, uint64_t asked,
                        uint64_t at, uint64_t size)
{
    const struct model_new what = {.requested_bytes = asked * G, .align_bytes = G, .kind = kind};
    const struct target_block block = {op + 1, at * G, size * G};
    uint32_t slot = SLOT_NONE;
    uint32_t other = SLOT_NONE;
    model_begin_op(rig->model, op);
    ck_assert(model_add(rig->model, &what, &block, &slot, &other));
    return slot;
}

static void check_refusal(struct rig *rig, uint64_t asked, enum verdict_kind kind)
{
    struct verdict verdict = {0};
    struct oracle *oracle = oracle_create();
    const struct oom_request request = {
        .size_bytes = asked * G, .align_bytes = G, .own_op = OP_NONE};
    oom_take(&rig->oom, rig->model, &request, 0);
    oracle_judge(oracle, &rig->oom, 0, &verdict);
    ck_assert_msg(verdict.kind == kind, "%s: %s", verdict_name(verdict.kind), verdict.reason);
    oracle_destroy(oracle);
}

TEST(what_a_block_has_too_much_counts_as_free)
{
    struct rig rig;
    rig_init(&rig, "granule", DEFRAG_NONE);
    (void)rig_add(&rig, 0, BLOCK_BUFFER, 2, 0, 16);
    check_refusal(&rig, 14, VERDICT_PREMATURE);
    check_refusal(&rig, 15, VERDICT_JUSTIFIED);
    /* What is counted is what there is. */
    ck_assert_uint_eq(model_free_bytes(rig.model), 0);
    ck_assert_uint_eq(model_largest_hole_bytes(rig.model), 0);
    rig_deinit(&rig);
    rig_init(&rig, "any", DEFRAG_NONE);
    (void)rig_add(&rig, 0, BLOCK_BUFFER, 2, 0, 16);
    check_refusal(&rig, 1, VERDICT_JUSTIFIED);
    rig_deinit(&rig);
    rig_init(&rig, "classes=1", DEFRAG_NONE);
    (void)rig_add(&rig, 0, BLOCK_BUFFER, 3, 0, 3); /* smaller than its class: as it is */
    check_refusal(&rig, 13, VERDICT_PREMATURE);
    rig_deinit(&rig);
}

TEST(what_is_reservable_is_what_there_is)
{
    struct rig rig;
    for (enum defrag_contract defrag = DEFRAG_SLIDE; defrag <= DEFRAG_REPACK; defrag++) {
        rig_init(&rig, "granule", defrag);
        (void)rig_add(&rig, 0, BLOCK_BUFFER, 2, 0, 10);
        check_refusal(&rig, 14, VERDICT_PREMATURE);
        ck_assert_uint_eq(oom_reservable(&rig.oom).low_bytes, 6 * G);
        ck_assert_uint_eq(oom_reservable(&rig.oom).high_bytes, 6 * G);
        rig_deinit(&rig);
    }
}

TEST(a_donated_block_keeps_what_was_promised_of_it)
{
    struct rig rig;
    rig_init(&rig, "granule", DEFRAG_NONE);
    const uint32_t slot = rig_add(&rig, 0, BLOCK_BUFFER, 8, 0, 16);
    model_begin_op(rig.model, 1);
    const struct model_new what = {.requested_bytes = G, .align_bytes = G, .kind = BLOCK_OUTPUT};
    (void)model_donate(rig.model, slot, &what, &(struct target_block){2, 0, 16 * G});
    check_refusal(&rig, 8, VERDICT_PREMATURE);
    check_refusal(&rig, 9, VERDICT_JUSTIFIED);
    rig_deinit(&rig);
}

TEST(retired_memory_is_as_large_as_it_is)
{
    struct rig rig;
    rig_init(&rig, "granule", DEFRAG_NONE);
    (void)rig_add(&rig, 0, BLOCK_RETIRED, 0, 4, 12);
    check_refusal(&rig, 4, VERDICT_PREMATURE);
    check_refusal(&rig, 5, VERDICT_JUSTIFIED);
    rig_deinit(&rig);
}
