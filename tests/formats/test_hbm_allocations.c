/* Our own allocations report, cut, damaged, and many in one text.  What whole ones become is in
 * tests/snap/formats_hbm_allocations.snap. */
#include "formats/common/text.h"
#include "tests/formats/import_rig.h"
#include "tests/helpers/draws.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define FIELD HBMSTRESS_SOURCE_DIR "/corpus/field/hbm_allocations/"

EVERY_TEST(.timeout_s = 120, .setup = setup_import, .teardown = teardown_import);

/* The first blocks without the others are never taken for the heap. */
TEST(a_report_cut_anywhere_is_refused_or_whole)
{
    struct text text;
    ck_assert_int_eq(text_read(FIELD "every_state.log", 1 << 20, &text, &refusal), IMPORT_OK);
    for (size_t length = 0; length < text.length; length += draws_period()) {
        if (import_bytes(text.bytes, length, "hbm_allocations") == IMPORT_OK) {
            ck_assert_uint_ge(import.ops.count, 14);
        }
        (void)import_bytes(text.bytes, length, "auto");
    }
    text_deinit(&text);
}

TEST(damage_at_any_byte_never_crashes)
{
    struct text text;
    ck_assert_int_eq(text_read(FIELD "every_state.log", 1 << 20, &text, &refusal), IMPORT_OK);
    (void)damage(text.bytes, text.length, "auto", draws_count(4000, 1));
    text_deinit(&text);
}

/* A hundred thousand first lines, each of a report that is cut: in lines of their own, and in
 * one. */
TEST(many_cut_reports_take_no_longer_than_the_text_is_long, .to = 2)
{
    static const char *const heads[] = {"HBM allocations:\n", "HBM allocations: "};
    const size_t head_length = strlen(heads[_i]);
    const size_t count = 100000;
    char *text = malloc(count * head_length);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + i * head_length, heads[_i], head_length);
    }
    ck_assert_int_eq(import_bytes(text, count * head_length, "auto"), IMPORT_INCOMPLETE);
    ck_assert_uint_eq(refusal.line, 1);
    free(text);
}
