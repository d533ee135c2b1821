/* The names under which findings are counted: what each verdict is called, and which names stand
 * for another one, explain it, or lack a mitigation.  tests/cases/oracle/shortfall.case has what
 * the mechanisms of premature out-of-memories are called. */
#include "harness/oracle/shortfall.h"
#include "harness/oracle/signature.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

static const struct op op = {.kind = OP_DONATE};
static const struct op_list one_op = {.ops = (struct op *)&op, .count = 1};

TEST(each_verdict_has_its_name)
{
    static const struct {
        struct verdict verdict;
        const char *name;
    } rows[] = {
        {{.kind = VERDICT_NONE, .mechanism = "anything"}, ""},
        {{.kind = VERDICT_JUSTIFIED}, "justified in donate"},
        {{.kind = VERDICT_UNKNOWN}, "unknown in donate"},
        {{.kind = VERDICT_DISPUTED, .op = 1}, "disputed at the end"},
        {{.kind = VERDICT_DISPUTED, .rule = RULE_REPLAY}, "disputed in donate"},
        {{.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE}, "premature in donate"},
        {{.kind = VERDICT_PREMATURE, .mechanism = "fits after drain"},
         "premature: fits after drain"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_CONTENTS, .mechanism = "place"}, "contents: place"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_REPLAY, .mechanism = "place"}, "replay: place"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_REPLAY}, "replay"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_REPLAY, .op = 1}, "replay"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_COUNTERS, .op = 1}, "counters at the end"},
        {{.kind = VERDICT_BROKEN, .rule = RULE_COUNTERS}, "counters in donate"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[SIGNATURE_BYTES] = "as before";
        signature_print(&rows[i].verdict, &one_op, name);
        ck_assert_str_eq(name, rows[i].name);
    }
}

struct pair {
    const char *name, *other;
    bool holds;
};

static void check_pairs(const struct pair *pairs, size_t count,
                        bool (*relates)(const char *name, const char *other))
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(relates(pairs[i].name, pairs[i].other) == pairs[i].holds,
                      "'%s' and '%s': should be %s", pairs[i].name, pairs[i].other,
                      pairs[i].holds ? "true" : "false");
    }
}

/* Texts that begin like the signature of a premature out-of-memory with its mechanism are none. */
TEST(only_mechanisms_of_premature_refusals_stand_for_others)
{
    static const struct pair pairs[] = {
        {"premature: fits after drain", "premature: fits after drain and evict", true},
        {"premature: fits after drain", "premature in alloc", false},
        {"premature: fits after drain", "counters: bytes_in_use", false},
        {"premature in alloc", "premature: fits after drain", false},
        {"premature in alloc", "premature in alloc", true},
        {"premature, fits after drain", "premature: fits after drain", false},
        {"prematurely: fits after drain", "premature: fits after drain", false},
        {"counters: fits after drain", "premature: fits after drain and evict", false},
        {"premature: fits after drain", "counters: fits after drain and evict", false},
        {"premature", "premature", true},
        {"premature", "premature: fits after drain", false},
        {"premature: fits after drain and evict", "premature: fits after drain", false},
        {"counters: bytes_in_use", "counters: bytes_in_use", true},
        {"counters: bytes_in_use", "counters: num_allocs", false},
        {"fits after drain", "fits after drain and evict", false},
    };
    check_pairs(pairs, sizeof pairs / sizeof pairs[0], signature_stands_for);
}

TEST(only_mechanisms_of_premature_refusals_explain_others)
{
    static const struct pair pairs[] = {
        {"premature: stack fits at once", "premature: fits after drain", true},
        {"premature: fits after its own drain", "premature: fits after drain", true},
        {"premature: fits after drain", "premature: stack fits at once", false},
        {"premature: stack fits at once", "counters: fits after drain", false},
        {"premature: stack fits at once", "premature in alloc", false},
        {"counters: stack fits at once", "premature: fits after drain", false},
        {"premature in alloc", "premature: fits after drain", false},
        {"premature in alloc", "premature in alloc", false},
        {"counters: bytes_in_use", "premature: fits after drain", false},
        {"premature: fits after drain", "premature: fits after drain", false},
    };
    check_pairs(pairs, sizeof pairs / sizeof pairs[0], signature_explains);
}

TEST(a_refusal_that_needed_mitigations_or_had_them_in_vain_lacks_one)
{
    static const struct {
        const char *name;
        bool lacks;
    } rows[] = {
        {"premature: fits after drain", true},
        {"premature: fits after drain and defragment and evict", true},
        {"premature: fits after its own evict", true},
        {"premature: fits after grow", true},
        {"premature: fits after trim and grow", true},
        {"premature: fits after drain and trim and grow", true},
        {"premature: stack fits at once", false},
        {"premature: buffer fits at once, in a hole of twice its size or more", false},
        {"premature: no mechanism", false},
        {"premature in alloc", false},
        {"counters: fits after drain", false},
        {"fits after drain", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ck_assert_msg(signature_lacks_mitigation(rows[i].name) == rows[i].lacks, "%s",
                      rows[i].name);
    }
}

TEST(a_rule_is_found_by_its_whole_name)
{
    ck_assert_int_eq(rule_find("premature"), RULE_PREMATURE);
    ck_assert_int_eq(rule_find("prematur"), RULE_NONE);
    ck_assert_int_eq(rule_find("none"), RULE_NONE);
    ck_assert_int_eq(rule_find(""), RULE_NONE);
}

/* --- mechanisms --- */

static const char small_hole[] = "buffer fits at once, in a hole under 9/8 of its size";
static const char medium_hole[] = "buffer fits at once, in a hole under twice its size";
static const char large_hole[] = "buffer fits at once, in a hole of twice its size or more";
static const char aligned_hole[] = "aligned buffer fits at once, in a hole under twice its size";
static const char program_hole[] = "program fits at once, in a hole of twice its size or more";

TEST(what_is_left_of_a_defect_lacks_less_or_has_a_larger_hole)
{
    const struct pair pairs[] = {
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
    check_pairs(pairs, sizeof pairs / sizeof pairs[0], shortfall_is_simpler);
}

TEST(a_refusal_is_explained_by_one_of_the_same_request_where_less_is_in_its_way)
{
    const struct pair pairs[] = {
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
    check_pairs(pairs, sizeof pairs / sizeof pairs[0], shortfall_explains);
}
