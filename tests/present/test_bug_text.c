/* Texts of a target's API: values in place of words, and nothing of a hostile name is more than
 * text. */
#include "present/bug.h"
#include "tests/present/text_fixture.h"

#include <check.h>

static const struct bug_word words[] = {{"block", "b1"}, {"size", "@block"}};

EVERY_TEST(.teardown = snap_text);

TEST(a_word_becomes_its_value_which_is_not_looked_into_and_what_is_no_word_stays)
{
    static const char *const templates[] = {"@block = f(@block);",
                                            "at_@block",
                                            "@block",
                                            "@size",
                                            "@blocks @ @@ @block_ @unknown a@",
                                            "@@block",
                                            ""};
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        writing_append_format(&text, "%s: ", templates[i]);
        bug_text_append(&text, templates[i], words, 2);
        writing_append(&text, "\n");
    }
}

TEST(lines_are_indented_and_ended)
{
    bug_text_append_lines(&text, "a\n\n@block", words, 2, 4);
    bug_text_append_lines(&text, NULL, words, 2, 4);
}

TEST(markdown_has_no_markup_of_a_name)
{
    bug_text_append_markdown(&text, "*/ `x`\n# <b>[a](b) \x1b[31m");
}

TEST(no_line_ends_a_code_block)
{
    bug_text_append_code(&text, "c", "a\n````\n\x1b[2J");
}

/* --- programs --- */

static const struct target_api api = {
    .language = "c",
    .build = "cc @source -o @program",
    .head = "#include <heap.h>",
    .create = "heap_t heap = heap_create(@capacity);",
    .alloc = "void *@block = take(heap, @size);",
    .free = "give(heap, @block, @size);",
};

static const struct bug_call calls[] = {
    {.kind = BUG_ALLOC,
     .op = 3,
     .block = 0,
     .asked_bytes = 100,
     .size_bytes = 128,
     .taken_bytes = 128},
    {.kind = BUG_FREE, .op = 5, .block = 0, .size_bytes = 128},
    {.kind = BUG_REFUSED, .op = 6, .block = 1, .asked_bytes = 900, .size_bytes = 960},
};

/* Its reason and target are what a file may say. */
static struct bug make_bug(void)
{
    return (struct bug){.api = &api,
                        .target = "*/ int main(void) { `x` }",
                        .calls = calls,
                        .call_count = 3,
                        .block_count = 2,
                        .sign = BUG_SIGN_REFUSED,
                        .reason = "*/ <b> fits",
                        .capacity_bytes = 1024,
                        .granule_bytes = 64,
                        .need_bytes = 960,
                        .align_bytes = 64,
                        .has_places = true,
                        .to = 1024};
}

/* Calls are statements, and no name reaches a program. */
TEST(a_call_is_a_statement)
{
    const struct bug bug = make_bug();
    bug_program_append(&bug, &text);
}

TEST(a_program_needs_the_texts_of_its_calls)
{
    struct bug bug = make_bug();
    struct bug_call aligned = calls[0];
    ck_assert_ptr_null(bug_program_flaw(&bug));
    bug.sign = BUG_SIGN_TAKEN;
    ck_assert_ptr_nonnull(bug_program_flaw(&bug));
    bug.sign = BUG_SIGN_CONTENTS;
    ck_assert_ptr_null(bug_program_flaw(&bug));
    aligned.align_bytes = 4096;
    bug.calls = &aligned;
    bug.call_count = 1;
    ck_assert_ptr_nonnull(bug_program_flaw(&bug));
}

TEST(a_picture_shows_what_is_live)
{
    struct bug bug = make_bug();
    bug.call_count = 1;
    bug_picture_append(&bug, &text);
    const size_t length = text.length;
    bug.has_places = false;
    bug_picture_append(&bug, &text);
    ck_assert_uint_eq(text.length, length);
}
