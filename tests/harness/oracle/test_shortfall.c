/* The mechanisms of premature out-of-memories: which of them is left of which in a shorter list,
 * and which explains which.  tests/cases/oracle/shortfall.case has what each is called. */
#include "harness/oracle/shortfall.h"
#include "harness/oracle/signature.h"
#include "tests/helpers/suite.h"

#include <check.h>

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
        {"fits after grow", "fits after trim and grow", true},
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
