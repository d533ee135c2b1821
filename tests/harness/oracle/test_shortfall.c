/* The mechanisms of premature out-of-memories: what each is called, which of them is left of which
 * in a shorter list, and which explains which. */
#include "harness/oracle/shortfall.h"
#include "harness/oracle/signature.h"
#include "tests/harness/oracle/small_oom.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

/* An out-of-memory as a drawing (small_oom.h), and what it is called. */
struct row {
    const char *drawing;
    enum request_class class;
    uint64_t size, align, stack; /* in granules */
    const char *name;
};

static const struct oom everything = {
    .granule_bytes = SMALL_GRANULE,
    .defrag = DEFRAG_SLIDE,
    .drains = true,
    .evicts = true,
    .request = {.align_bytes = SMALL_GRANULE, .own_op = OP_NONE},
};

static void name_row(const struct row *row, const struct oom *contract, unsigned done,
                     char name[VERDICT_MECHANISM_BYTES])
{
    struct small_oom small;
    struct reach reach = {0};
    struct verdict verdict = {0};
    struct oracle *oracle = oracle_create();
    struct oom like = *contract;
    like.request.class = row->class;
    like.request.size_bytes = row->size * SMALL_GRANULE;
    like.request.align_bytes = row->align * SMALL_GRANULE;
    like.request.stack_bytes = row->stack * SMALL_GRANULE;
    small_oom_draw(&small, &like, row->drawing);
    oracle_judge(oracle, &small.oom, 0, &verdict);
    ck_assert_msg(verdict.kind == VERDICT_PREMATURE, "%s: %s", row->drawing, verdict.reason);
    shortfall_name(oracle, &small.oom, &reach, done, name);
    oracle_destroy(oracle);
    reach_deinit(&reach);
}

static void check_rows(const struct row *rows, size_t count, const struct oom *contract)
{
    for (size_t i = 0; i < count; i++) {
        char name[VERDICT_MECHANISM_BYTES];
        name_row(&rows[i], contract, 0, name);
        ck_assert_msg(strcmp(name, rows[i].name) == 0, "%s: %s, should be: %s", rows[i].drawing,
                      name, rows[i].name);
    }
}
#define CHECK_ROWS(rows, contract) check_rows(rows, sizeof(rows) / sizeof(rows)[0], contract)

TEST(a_request_that_fits_at_once_is_named_by_its_kind_and_the_largest_hole)
{
    static const struct row rows[] = {
        {"mm........", REQUEST_BUFFER, 8, 1, 0,
         "buffer fits at once, in a hole under 9/8 of its size"},
        {"m.........", REQUEST_BUFFER, 8, 1, 0,
         "buffer fits at once, in a hole under twice its size"},
        {"m...............", REQUEST_BUFFER, 8, 1, 0,
         "buffer fits at once, in a hole under twice its size"},
        {"................", REQUEST_BUFFER, 8, 1, 0,
         "buffer fits at once, in a hole of twice its size or more"},
        /* The largest hole counts, not the first that is large enough. */
        {"....m........", REQUEST_BUFFER, 4, 1, 0,
         "buffer fits at once, in a hole of twice its size or more"},
        {"..........", REQUEST_PROGRAM, 8, 1, 2,
         "program fits at once, in a hole under 9/8 of its size"},
        {"..........", REQUEST_PROGRAM, 4, 1, 2,
         "program fits at once, in a hole of twice its size or more"},
        {"..o.....", REQUEST_PROGRAM, 0, 1, 2, "stack fits at once"},
    };
    CHECK_ROWS(rows, &everything);
}

TEST(an_alignment_counts_only_where_the_hole_could_miss_a_place_for_it)
{
    static const struct row rows[] = {
        {"....m...", REQUEST_BUFFER, 4, 4, 0,
         "aligned buffer fits at once, in a hole under 9/8 of its size"},
        {"......m.", REQUEST_BUFFER, 4, 4, 0,
         "aligned buffer fits at once, in a hole under twice its size"},
        {".......m", REQUEST_BUFFER, 4, 4, 0,
         "buffer fits at once, in a hole under twice its size"},
        {"........", REQUEST_BUFFER, 4, 8, 0,
         "aligned buffer fits at once, in a hole of twice its size or more"},
    };
    CHECK_ROWS(rows, &everything);
}

TEST(another_request_is_named_by_the_fewest_mitigations_that_make_room)
{
    static const struct row rows[] = {
        {"dddd....", REQUEST_BUFFER, 6, 1, 0, "fits after drain"},
        {"..mm..mm", REQUEST_BUFFER, 4, 1, 0, "fits after defragment"},
        {"pppp....", REQUEST_BUFFER, 6, 1, 0, "fits after evict"},
        {"..d.m..m", REQUEST_BUFFER, 6, 1, 0, "fits after drain and defragment"},
        {"ddpp..", REQUEST_BUFFER, 6, 1, 0, "fits after drain and evict"},
        {"p.m.p.", REQUEST_BUFFER, 5, 1, 0, "fits after defragment and evict"},
        {"d.m.p", REQUEST_BUFFER, 4, 1, 0, "fits after drain and defragment and evict"},
        /* Of equally many the documented order decides ... */
        {"dd..pp", REQUEST_BUFFER, 4, 1, 0, "fits after drain"},
        /* ... and one is fewer than two: evicting is enough, so is draining with moving. */
        {"d.m.pp..", REQUEST_BUFFER, 5, 1, 0, "fits after evict"},
        /* Kind and alignment do not count there. */
        {"dddd....", REQUEST_BUFFER, 6, 2, 0, "fits after drain"},
        {"dddd....", REQUEST_PROGRAM, 5, 1, 1, "fits after drain"},
        {"ddo.....", REQUEST_PROGRAM, 0, 1, 2, "fits after drain"},
    };
    CHECK_ROWS(rows, &everything);
}

TEST(a_program_that_may_evict_others_lacks_it)
{
    static const struct row rows[] = {
        {"pppp....", REQUEST_PROGRAM, 5, 1, 1, "fits after evict"},
        {"ddpp..", REQUEST_PROGRAM, 5, 1, 1, "fits after drain and evict"},
    };
    struct oom contract = everything;
    contract.program_evicts_program = true;
    CHECK_ROWS(rows, &contract);
}

TEST(a_mitigation_that_is_not_promised_is_never_lacking)
{
    struct oom slides = everything;
    char name[VERDICT_MECHANISM_BYTES];
    slides.drains = slides.evicts = false;
    name_row(&(const struct row){"..mm..mm", REQUEST_BUFFER, 4, 1, 0, NULL}, &slides, 0, name);
    ck_assert_str_eq(name, "fits after defragment");
}

TEST(what_the_target_did_in_vain_names_a_request_that_fits_at_once_then)
{
    static const struct row at_once = {"m.........", REQUEST_BUFFER, 8, 1, 0, NULL};
    static const struct row later = {"dddd....", REQUEST_BUFFER, 6, 1, 0, NULL};
    const unsigned all = SHORTFALL_DRAIN | SHORTFALL_DEFRAGMENT | SHORTFALL_EVICT;
    char name[VERDICT_MECHANISM_BYTES];
    name_row(&at_once, &everything, SHORTFALL_DRAIN, name);
    ck_assert_str_eq(name, "fits after its own drain");
    name_row(&at_once, &everything, all, name);
    ck_assert_str_eq(name, "fits after its own drain and defragment and evict");
    name_row(&later, &everything, SHORTFALL_EVICT, name);
    ck_assert_str_eq(name, "fits after drain");
}

/* --- relations --- */

static const char small_hole[] = "buffer fits at once, in a hole under 9/8 of its size";
static const char medium_hole[] = "buffer fits at once, in a hole under twice its size";
static const char large_hole[] = "buffer fits at once, in a hole of twice its size or more";
static const char aligned_hole[] = "aligned buffer fits at once, in a hole under twice its size";
static const char program_hole[] = "program fits at once, in a hole of twice its size or more";

struct relation {
    const char *name, *than;
    bool holds;
};

static void check_relation(const struct relation *relations, size_t count,
                           bool (*relates)(const char *name, const char *than))
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(relates(relations[i].name, relations[i].than) == relations[i].holds,
                      "'%s' and '%s': should be %s", relations[i].name, relations[i].than,
                      relations[i].holds ? "true" : "false");
    }
}

TEST(what_is_left_of_a_defect_lacks_less_or_has_a_larger_hole)
{
    const struct relation relations[] = {
        {"fits after drain", "fits after drain and evict", true},
        {"fits after drain and evict", "fits after drain and defragment and evict", true},
        {"fits after drain and evict", "fits after drain", false},
        {"fits after evict", "fits after drain", false},
        {"fits after drain", "fits after drain", true},
        {large_hole, small_hole, true},
        {medium_hole, small_hole, true},
        {small_hole, large_hole, false},
        {large_hole, program_hole, false},
        {large_hole, aligned_hole, false},
        {aligned_hole, medium_hole, false},
        {"stack fits at once", "stack fits at once", true},
        /* Whoever waits in vain is not found by one who does not even look. */
        {large_hole, "fits after drain", false},
        {"fits after drain", large_hole, false},
        {"fits after its own drain", "fits after its own drain and evict", true},
        {"fits after its own drain and evict", "fits after its own drain", false},
        {"fits after its own drain", "fits after drain", false},
        {"fits after drain", "fits after its own drain", false},
        {small_hole, "fits after its own drain", false},
        {"fits after its own drain", small_hole, false},
        {"no mechanism", "fits after drain", false},
        {"fits after drain", "no mechanism", false},
    };
    check_relation(relations, sizeof relations / sizeof relations[0], shortfall_is_simpler);
}

TEST(a_refusal_is_explained_by_one_of_the_same_request_where_less_is_in_its_way)
{
    const struct relation relations[] = {
        {small_hole, "fits after drain", true},
        {program_hole, "fits after drain and defragment and evict", true},
        {"fits after drain", small_hole, false},
        {"fits after drain", "fits after drain and evict", false},
        {large_hole, small_hole, true},
        {small_hole, large_hole, false},
        {medium_hole, aligned_hole, true},
        {large_hole, aligned_hole, true},
        {small_hole, aligned_hole, false},
        {aligned_hole, medium_hole, false},
        {large_hole, program_hole, false},
        {medium_hole, medium_hole, false},
        {"fits after its own drain", "fits after evict", true},
        {"fits after evict", "fits after its own drain", false},
        {small_hole, "fits after its own drain", true},
        {"fits after its own drain", small_hole, false},
        {"fits after its own drain", "fits after its own drain and evict", false},
        {large_hole, "no mechanism", false},
        {"no mechanism", small_hole, false},
        {"no mechanism", "fits after drain", false},
    };
    check_relation(relations, sizeof relations / sizeof relations[0], shortfall_explains);
}

TEST(signatures_relate_as_their_mechanisms_do_and_others_only_to_themselves)
{
    ck_assert(signature_stands_for("premature: fits after drain",
                                   "premature: fits after drain and evict"));
    ck_assert(!signature_stands_for("premature: fits after drain and evict",
                                    "premature: fits after drain"));
    ck_assert(signature_stands_for("counters: bytes_in_use", "counters: bytes_in_use"));
    ck_assert(!signature_stands_for("counters: bytes_in_use", "counters: num_allocs"));
    ck_assert(!signature_stands_for("fits after drain", "fits after drain and evict"));
    ck_assert(signature_explains("premature: stack fits at once", "premature: fits after drain"));
    ck_assert(!signature_explains("counters: bytes_in_use", "premature: fits after drain"));
    ck_assert(!signature_explains("premature: fits after drain", "premature: fits after drain"));
}
