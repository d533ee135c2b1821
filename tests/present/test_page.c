/* The page of `hbmstress report`: foreign text stays text, data is read back as it was, and the
 * policy allows what the page holds and nothing else. */
#include "harness/base/writing.h"
#include "present/page/assets.h"
#include "present/page/page.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <jansson.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

static const char hostile[] = "<script>alert(1)</script>\"'&\x1b[31m";
static const char hostile_escaped[] = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;\\x1b[31m";

/* --- helpers --- */

/* What stands between the first before and the first after behind it; the caller frees it. */
static char *cut_between(const char *text, const char *before, const char *after)
{
    const char *begin = strstr(text, before);
    ck_assert_ptr_nonnull(begin);
    begin += strlen(before);
    const char *end = strstr(begin, after);
    ck_assert_ptr_nonnull(end);
    return strndup(begin, (size_t)(end - begin));
}

static size_t count_occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

static size_t sum_lengths(const struct page_asset *assets)
{
    size_t length = 0;
    for (; assets->name != NULL; assets++) {
        length += assets->length + 1; /* and a newline */
    }
    return length;
}

static struct writing html;

static void release_html(void)
{
    writing_deinit(&html);
}

EVERY_TEST(.teardown = release_html);

static void write_page(const char *title)
{
    writing_clear(&html);
    page_begin(&html, title);
    page_section_begin(&html, "first", title);
    page_section_end(&html);
    page_end(&html);
}

TEST(the_heading_is_the_last_part_of_a_path)
{
    write_page("a/\"b\"/c<d>");
    ck_assert_ptr_nonnull(strstr(writing_string(&html), "<title>c&lt;d&gt;</title>"));
    ck_assert_ptr_nonnull(strstr(writing_string(&html), "<h1 title=\"a/&quot;b&quot;/c&lt;d&gt;\">"
                                                        "c&lt;d&gt;</h1>"));
    write_page("out/");
    ck_assert_ptr_nonnull(strstr(writing_string(&html), "<title>out/</title>"));
}

/* The policy allows text by its hash, as directive says. */
static void expect_allowed(const char *page, const char *directive, const char *text)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    char name[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";
    char wanted[128];
    sha256_init(&context);
    sha256_update(&context, strlen(text), (const uint8_t *)text);
    sha256_digest(&context, sizeof digest, digest);
    base64_encode_raw(name, sizeof digest, digest);
    snprintf(wanted, sizeof wanted, "%s 'sha256-%s'", directive, name);
    char *policy = cut_between(page, "Content-Security-Policy\" content=\"", "\"");
    ck_assert_msg(strstr(policy, wanted) != NULL, "%s lacks %s", policy, wanted);
    free(policy);
}

/* --- texts --- */

static void expect_text(const char *string, const char *wanted)
{
    writing_clear(&html);
    page_append_text(&html, string);
    ck_assert_str_eq(writing_string(&html), wanted);
}

TEST(markup_becomes_text_and_lines_stay_lines)
{
    expect_text(hostile, hostile_escaped);
    expect_text("", "");
    expect_text("\xff\x80 \xe2\x80\xae", "\\xff\\x80 \\xe2\\x80\\xae");
    expect_text("a\n\n<b>\n", "a\n\n&lt;b&gt;\n");
}

TEST(a_long_line_loses_no_character)
{
    for (size_t shift = 0; shift < 4; shift++) {
        char line[2048] = "xxx";
        size_t length = shift;
        for (int i = 0; i < 400; i++) {
            memcpy(line + length, "€", 3);
            length += 3;
        }
        line[length] = '\0';
        expect_text(line, line);
        strcpy(line + length, "\nend");
        expect_text(line, line);
    }
}

/* --- data --- */

TEST(data_cannot_end_its_script)
{
    struct writing json;
    writing_init(&json);
    writing_append(&json, "{\"a\": ");
    writing_append_json(&json, "</script><!--<script>");
    writing_append(&json, ", \"b\": 1}");
    page_append_data(&html, "run-1", &json);
    char *text = cut_between(writing_string(&html), "id=\"run-1\">", "</script>\n");
    ck_assert_ptr_null(strchr(text, '<'));
    json_t *value = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert_str_eq(json_string_value(json_object_get(value, "a")), "</script><!--<script>");
    ck_assert_int_eq(json_integer_value(json_object_get(value, "b")), 1);
    json_decref(value);
    free(text);
    writing_deinit(&json);
}

static void expect_round_trip(const uint8_t *bytes, size_t length)
{
    struct writing json;
    struct base64_decode_ctx context;
    uint8_t *decoded = malloc(length + 8);
    size_t decoded_length = length + 8;
    writing_init(&json);
    page_append_base64(&json, bytes, length);
    ck_assert_uint_ge(json.length, 2);
    ck_assert_int_eq(json.bytes[0], '"');
    ck_assert_int_eq(json.bytes[json.length - 1], '"');
    base64_decode_init(&context);
    ck_assert_int_eq(
        base64_decode_update(&context, &decoded_length, decoded, json.length - 2, json.bytes + 1),
        1);
    ck_assert_int_eq(base64_decode_final(&context), 1);
    ck_assert_uint_eq(decoded_length, length);
    ck_assert_mem_eq(decoded, bytes, length);
    writing_deinit(&json);
    free(decoded);
}

TEST(base64_is_read_back)
{
    static uint8_t bytes[10000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 167 + i / 256);
    }
    static const size_t lengths[] = {0, 1, 2, 3, 4, 3071, 3072, 3073, 6144, sizeof bytes};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        expect_round_trip(bytes, lengths[i]);
    }
}

/* --- the document --- */

TEST(titles_are_text)
{
    write_page(hostile);
    /* The attribute of the heading, and a section; two places have what follows its slash. */
    ck_assert_uint_eq(count_occurrences(html.bytes, hostile_escaped), 2);
    ck_assert_uint_eq(count_occurrences(html.bytes, strchr(hostile_escaped, '/') + 1), 4);
    ck_assert_ptr_null(strstr(html.bytes, "<script>alert"));
}

TEST(the_policy_names_what_the_page_holds)
{
    write_page("a page");
    char *style = cut_between(html.bytes, "<style>", "</style>");
    char *script = cut_between(html.bytes, "<script>", "</script>");
    /* Nothing in them ends their element early. */
    ck_assert_uint_eq(strlen(style), sum_lengths(page_styles));
    ck_assert_uint_eq(strlen(script), sum_lengths(page_scripts));
    ck_assert_ptr_null(strstr(script, "<!--"));
    expect_allowed(html.bytes, "style-src", style);
    expect_allowed(html.bytes, "script-src", script);
    free(script);
    free(style);
}

TEST(the_policy_allows_nothing_else)
{
    static const char *const forbidden[] = {"unsafe", "http", "*", "'self'", "connect", "frame"};
    write_page("a page");
    char *policy = cut_between(html.bytes, "Content-Security-Policy\" content=\"", "\"");
    ck_assert_ptr_eq(strstr(policy, "default-src 'none'; "), policy);
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        ck_assert_msg(strstr(policy, forbidden[i]) == NULL, "%s: %s", forbidden[i], policy);
    }
    free(policy);
}

/* The licence of what is copied into each report goes with the copy. */
TEST(curves_come_with_their_licence)
{
    write_page("a page");
    ck_assert_int_eq(strstr(html.bytes, "var uPlot") != NULL, page_has_curves());
    ck_assert_int_eq(strstr(html.bytes, "Leon Sorokin") != NULL, page_has_curves());
}
