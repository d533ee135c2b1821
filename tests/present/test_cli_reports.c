/* What a report may never do: break a line, act on a terminal, or print what is not JSON. */
#include "present/json_lines.h"
#include "present/screen.h"
#include "present/table.h"
#include "present/terminal.h"
#include "present/version.h"
#include "tests/present/text_fixture.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Lines of JSON have their members below each other. */
static void snap_members(void)
{
    snap_mask(version_text(), "VERSION");
    if (text.length > 0) {
        snap_json(writing_string(&text));
        writing_clear(&text);
    }
    snap_text();
}

EVERY_TEST(.teardown = snap_members);

/* A string as JSON reads it back; the caller frees. */
static json_t *read_back(const char *string)
{
    json_error_t error;
    writing_clear(&text);
    writing_append(&text, "[");
    writing_append_json(&text, string);
    writing_append(&text, "]");
    json_t *value = json_loads(writing_string(&text), 0, &error);
    ck_assert_msg(value != NULL, "%s: %s", error.text, writing_string(&text));
    ck_assert(strchr(writing_string(&text), '\n') == NULL);
    writing_clear(&text);
    return value;
}

TEST(every_string_becomes_json_that_reads_back)
{
    char string[8];
    for (uint32_t i = 1; i < 0x20000; i += 1 + i / 300) {
        memset(string, 0, sizeof string);
        string[0] = (char)(i & 0xff);
        string[1] = (char)(i >> 8 & 0xff);
        string[2] = 'x';
        string[3] = (char)(i >> 4 & 0xff);
        json_decref(read_back(string));
    }
}

TEST(good_text_reads_back_as_it_was)
{
    static const char string[] = "q\"b\\s/n\nt\tu\001 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
    json_t *value = read_back(string);
    ck_assert_str_eq(json_string_value(json_array_get(value, 0)), string);
    json_decref(value);
}

TEST(nothing_that_acts_on_a_terminal_gets_through)
{
    static const char *const strings[] = {"plain \xc3\xa9\xe2\x82\xac",
                                          "\033[2J\r\n\t\007\177",
                                          "\xc2\x9b",     /* CSI as one character */
                                          "\xe2\x80\xae", /* right-to-left override */
                                          "\xe2\x81\xa6", /* isolate */
                                          "\xff\xc3",     /* not UTF-8, cut UTF-8 */
                                          "\xc0\x8a",     /* a line end in too many bytes */
                                          "\xed\xa0\x80", /* half a surrogate pair */
                                          ""};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        writing_append_visible(&text, strings[i]);
        writing_append(&text, "\n");
    }
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct table table;
    table_init(&table, 3, 1);
    table_put(&table, "name");
    table_put(&table, "ops");
    table_put(&table, "x");
    table_put(&table, "\xc3\xa9");
    table_put_number(&table, 123456);
    table_put(&table, "");
    table_print(&table, 1, &text);
    table_deinit(&table);
}

TEST(columns_stay_aligned_whatever_the_cells_hold)
{
    static const char *const names[] = {"\xe4\xb8\xad\xe6\x96\x87", "e\xcc\x81\xcc\xb2",
                                        "\xf0\x9f\x98\x80\xef\xbd\xb1",
                                        "<script>alert(1)</script>\"'&\033[2J\n"};
    struct table table;
    table_init(&table, 2, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        table_put(&table, names[i]);
        table_put(&table, "|");
    }
    table_print(&table, 0, &text);
    table_deinit(&table);
}

TEST(a_name_that_is_too_long_keeps_its_beginning_and_its_end)
{
    static const struct {
        const char *name;
        size_t width;
    } rows[] = {{"recompilation_churn", 19},
                {"recompilation_churn", 16},
                {"recompilation_churn_faults", 16},
                {"recompilation_churn", 6},
                {"recompilation_churn", 5},
                {"recompilation_churn", 0},
                {"", 9},
                {"\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 7},
                {"abcde\xcc\x81z", 6},
                {"abcdefe\xcc\x81z", 7},
                {"abcdefgh\xcc\x81z", 6}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t begin = text.length;
        text_append_shortened(&text, rows[i].name, rows[i].width);
        ck_assert_uint_le(text_width(writing_string(&text) + begin), rows[i].width);
        writing_append(&text, "\n");
    }
}

TEST(lines_have_the_documented_fields)
{
    struct setup setup;
    setup_init(&setup);
    setup.seed = UINT64_MAX; /* no double has it */
    ck_assert(setup_set_option(&setup, "defrag", "slide"));
    json_line_start(&text, &(struct report_start){
                               .subcommand = "run", .setup = &setup, .duration_ns = UINT64_MAX});
    const struct report_place place = {"slow_leak", 3};
    struct verdict verdict = {.kind = VERDICT_PREMATURE,
                              .rule = RULE_PREMATURE,
                              .op = 17,
                              .requested_bytes = 512,
                              .free_bytes = 1024,
                              .reason = "it fits"};
    const struct report_finding oom = {.place = place,
                                       .verdict = &verdict,
                                       .message = "RESOURCE_EXHAUSTED\033",
                                       .repro = "out/x.ops",
                                       .certificate = "out/x.json"};
    json_line_verdict(&text, &oom);
    json_line_dispute(&text, &oom);
    verdict.kind = VERDICT_BROKEN;
    verdict.rule = RULE_OVERLAP;
    json_line_finding(
        &text,
        &(struct report_finding){
            .place = place, .verdict = &verdict, .rule = "overlap", .message = "", .repro = "r"});
    json_line_end(&text, &(struct report_end){.totals = {.ops = 9,
                                                         .ooms = 3,
                                                         .justified = 1,
                                                         .premature = 1,
                                                         .unknown = 1,
                                                         .broken = 2,
                                                         .disputed = 4,
                                                         .second_opinions = 5,
                                                         .relations_checked = 6},
                                              .certificates_checked = 6,
                                              .elapsed_ns = 1234567890,
                                              .exit_code = 1});
    json_line_certificate(&text, "red\033.json", "refuted", "move 3 overlaps");
    json_line_entry(&text, &(struct report_entry){.kind = "target",
                                                  .name = "plant",
                                                  .summary = "does harm",
                                                  .breaks = "overlap",
                                                  .options = "defrag=none|slide\ngranule=N\n"});
}

TEST(the_share_of_premature_refusals_is_told_when_there_are_some)
{
    struct report_result results[] = {
        {.name = "storm", .totals = {.justified = 3000, .premature = 12, .unknown = 40}},
        {.name = "leak", .totals = {.justified = 388}}};
    struct report_end end = {.totals = {.justified = 3388, .premature = 12, .unknown = 40}};
    const struct setup setup = {.target = "hbm"};
    const struct report_start start = {.subcommand = "run", .setup = &setup};
    const struct report_campaign campaign = {
        .start = &start, .results = results, .result_count = 2, .end = &end};
    json_line_end(&text, &end);
    json_line_result(&text, &results[0]);
    terminal_end(&text, &end);
    terminal_campaign(&text, &campaign);
    end.totals = results[1].totals;
    terminal_end(&text, &end);
    snap_lines(writing_string(&text), "refusals: ");
    snap(strstr(writing_string(&text), "\"premature_share\""));
    writing_clear(&text);
}

TEST(a_refusal_says_what_would_have_been_served)
{
    static const struct oracle_largest largest[] = {
        {.bytes = 1 << 20, .is_exact = true}, {.bytes = 1 << 20}, {.is_exact = true}, {0}};
    const struct verdict verdict = {.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
    struct report_finding finding = {.verdict = &verdict, .rule = "premature", .message = ""};
    for (size_t i = 0; i <= sizeof largest / sizeof *largest; i++) {
        finding.largest = i == 0 ? NULL : &largest[i - 1]; /* NULL: nobody asked */
        json_line_finding(&text, &finding);
        terminal_finding(&text, &finding);
        terminal_oom(&text, &finding);
    }
}

TEST(regret_is_told_by_kind_and_not_at_all_when_there_was_none)
{
    struct report_end end = {.totals = {.regretted = 3,
                                        .regrets_unknown = 2,
                                        .regretted_evicted_bytes = 1 << 20,
                                        .regretted_moved_bytes = 512}};
    end.totals.regrets[REGRET_EVICTED_NEEDLESSLY] = 1;
    end.totals.regrets[REGRET_MOVED_TOO_MUCH] = 2;
    json_line_end(&text, &end);
    terminal_end(&text, &end);
    end.totals = (struct run_totals){0};
    terminal_end(&text, &end);
}

/* --- the closing line --- */

/* 1,000 ops with 10 blocks, of which 20 made 6 device calls each and moved 64K, and 200 ops with
 * 100 blocks. */
static struct run_totals cost_totals(void)
{
    struct run_totals totals = {.ops = 1200};
    for (unsigned i = 0; i < 1200; i++) {
        const struct op_cost cost = {.calls = i < 20 ? 6 : 0,
                                     .effects = i < 20,
                                     .moved_bytes = i < 20 ? 65536 : 0,
                                     .asked_bytes = 512};
        op_costs_add(&totals.costs, &cost, i < 1000 ? 10 : 100);
    }
    return totals;
}

TEST(costs_are_told_in_full_to_programs_and_in_short_to_people)
{
    const struct report_result results[2] = {{.name = "storm", .totals = cost_totals()},
                                             {.name = "quiet", .totals = {.ops = 9}}};
    json_line_result(&text, &results[0]);
    terminal_results(&text, results, 2);
}

TEST(where_the_device_is_not_called_no_costs_are_told)
{
    const struct report_result result = {.name = "quiet", .totals = {.ops = 9}};
    json_line_result(&text, &result);
    terminal_results(&text, &result, 1);
}

TEST(the_closing_line_claims_no_more_than_is_true)
{
    const struct report_end ends[] = {
        {.exit_code = 0},
        {.totals = {.excused = 1}},
        {.totals = {.excused = 7}, .exit_code = 4, .is_interrupted = true},
        {.totals = {.unknown = 1, .unknown_by_class = {0, 1, 0}},
         .allowed = {.unknown = {9, 2, 9}, .has_unknown_rate = 1}},
        {.totals = {.excused = 3, .unknown = 5, .unknown_by_class = {2, 0, 3}},
         .allowed = {.unknown = {2, 0, 3}, .has_unknown_rate = 1}},
        {.totals = {.unknown = 1, .unknown_by_class = {1}}, .exit_code = 3},
        {.totals = {.unknown = 1, .unknown_by_class = {1}},
         .allowed = {.unknown = {0, 8, 8}, .has_unknown_rate = 1},
         .exit_code = 3},
        {.totals = {.unrepeated = 2}, .allowed = {.unrepeated = 3}},
        {.totals = {.unrepeated = 2}, .allowed = {.unrepeated = 1}, .exit_code = 3},
        {.totals = {.broken = 1, .unrepeated = 2}, .exit_code = 1},
        {.totals = {.unrepeated = 1, .unknown = 1, .unknown_by_class = {1}}, .exit_code = 3},
        {.totals = {.excused = 7, .broken = 1}, .exit_code = 1},
        {.totals = {.excused = 7}, .exit_code = 4},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        terminal_closing(&text, &ends[i]); /* whole, before it is made to fit */
    }
}

TEST(what_is_unknown_and_allowed_has_its_members)
{
    struct report_end end = {.totals = {.unknown = 5, .unknown_by_class = {2, 0, 3}},
                             .allowed = {.unknown = {4, 5, 6}}};
    json_line_end(&text, &end);
    end.allowed.has_unknown_rate = 1;
    end.totals = (struct run_totals){0};
    json_line_end(&text, &end);
    snap(strstr(writing_string(&text), "\"unknown_by_class\""));
    writing_clear(&text);
}

TEST(a_rate_needs_no_wide_numbers)
{
    ck_assert_uint_eq(per_second(5, 0), 0);
    ck_assert_uint_eq(per_second(1000, 1000000000), 1000);
    ck_assert_uint_eq(per_second(UINT64_MAX, UINT64_C(1000000000)), UINT64_MAX / 1000000 * 1000000);
}
