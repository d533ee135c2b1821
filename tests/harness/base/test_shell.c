/* What is quoted for a shell, a shell reads as the text that it was. */
#include "harness/base/shell.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *text, *word;
} samples[] = {
    {"out/repros/premature-a_b-7.ops", "out/repros/premature-a_b-7.ops"},
    {"+x@y%z=1:2,3.ops", "+x@y%z=1:2,3.ops"},
    {"", "''"},
    {"my out/a.ops", "'my out/a.ops'"},
    {"it's", "'it'\\''s'"},
    {"'", "''\\'''"},
    {"a;b&c|d", "'a;b&c|d'"},
    {"$HOME/`x`/\"y\"/\\z/*?[a]", "'$HOME/`x`/\"y\"/\\z/*?[a]'"},
    {"~/a", "'~/a'"},
    {"#a!{b}(c)<d>", "'#a!{b}(c)<d>'"},
    {"\xC3\xA9", "'\xC3\xA9'"},
    {"two\nlines\t", "'two\nlines\t'"},
};

TEST(only_what_a_shell_would_change_is_quoted, .to = sizeof samples / sizeof samples[0])
{
    char word[SHELL_WORD_BYTES(64)];
    ck_assert_str_eq(shell_word(samples[_i].text, word), samples[_i].word);
}

TEST(a_shell_reads_the_text_back, .to = sizeof samples / sizeof samples[0])
{
    char command[512], word[SHELL_WORD_BYTES(64)], back[128] = "";
    (void)snprintf(command, sizeof command, "printf %%s %s", shell_word(samples[_i].text, word));
    FILE *shell = popen(command, "r");
    ck_assert_ptr_nonnull(shell);
    const size_t length = fread(back, 1, sizeof back - 1, shell);
    ck_assert_int_eq(pclose(shell), 0);
    ck_assert_uint_eq(length, strlen(samples[_i].text));
    ck_assert_str_eq(back, samples[_i].text);
}

TEST(the_longest_word_fits)
{
    char text[65], word[SHELL_WORD_BYTES(64)];
    memset(text, '\'', 64);
    text[64] = '\0';
    ck_assert_uint_eq(strlen(shell_word(text, word)) + 1, sizeof word);
}
