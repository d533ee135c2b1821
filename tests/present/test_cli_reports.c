/* What a report may never do: break a line, act on a terminal, or print what is not JSON. */
#include "present/json_lines.h"
#include "present/screen.h"
#include "present/table.h"
#include "present/terminal.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

TEST(every_string_becomes_json_that_reads_back)
{
    char string[8];
    for (uint32_t i = 1; i < 0x20000; i += 1 + i / 300) {
        memset(string, 0, sizeof string);
        string[0] = (char)(i & 0xff);
        string[1] = (char)(i >> 8 & 0xff);
        string[2] = 'x';
        string[3] = (char)(i >> 4 & 0xff);
        struct writing text;
        writing_init(&text);
        writing_append(&text, "[");
        writing_append_json(&text, string);
        writing_append(&text, "]");
        json_error_t error;
        json_t *value = json_loads(writing_string(&text), 0, &error);
        ck_assert_msg(value != NULL, "%s: %s", error.text, writing_string(&text));
        ck_assert(strchr(writing_string(&text), '\n') == NULL);
        json_decref(value);
        writing_deinit(&text);
    }
}

TEST(good_text_reads_back_as_it_was)
{
    static const char string[] = "q\"b\\s/n\nt\tu\001 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
    struct writing text;
    writing_init(&text);
    writing_append(&text, "[");
    writing_append_json(&text, string);
    writing_append(&text, "]");
    json_t *value = json_loads(writing_string(&text), 0, NULL);
    ck_assert_ptr_nonnull(value);
    ck_assert_str_eq(json_string_value(json_array_get(value, 0)), string);
    json_decref(value);
    writing_deinit(&text);
}

static void expect_visible(const char *string, const char *wanted)
{
    struct writing text;
    writing_init(&text);
    writing_append_visible(&text, string);
    ck_assert_str_eq(writing_string(&text), wanted);
    writing_deinit(&text);
}

TEST(nothing_that_acts_on_a_terminal_gets_through)
{
    expect_visible("plain \xc3\xa9\xe2\x82\xac", "plain \xc3\xa9\xe2\x82\xac");
    expect_visible("\033[2J\r\n\t\007\177", "\\x1b[2J\\x0d\\x0a\\x09\\x07\\x7f");
    expect_visible("\xc2\x9b", "\\xc2\\x9b");          /* CSI as one character */
    expect_visible("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
    expect_visible("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* isolate */
    expect_visible("\xff\xc3", "\\xff\\xc3");          /* not UTF-8, cut UTF-8 */
    expect_visible("\xc0\x8a", "\\xc0\\x8a");          /* a line end in too many bytes */
    expect_visible("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* half a surrogate pair */
    expect_visible("", "");
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct table table;
    struct writing text;
    table_init(&table, 3, 1);
    writing_init(&text);
    table_put(&table, "name");
    table_put(&table, "ops");
    table_put(&table, "x");
    table_put(&table, "\xc3\xa9");
    table_put_number(&table, 123456);
    table_put(&table, "");
    table_print(&table, 1, &text);
    ck_assert_str_eq(writing_string(&text), " name     ops  x\n \xc3\xa9     123456\n");
    table_deinit(&table);
    writing_deinit(&text);
}

TEST(columns_stay_aligned_whatever_the_cells_hold)
{
    static const char *const names[] = {"\xe4\xb8\xad\xe6\x96\x87", "e\xcc\x81\xcc\xb2",
                                        "\xf0\x9f\x98\x80\xef\xbd\xb1",
                                        "<script>alert(1)</script>\"'&\033[2J\n"};
    struct table table;
    struct writing text;
    table_init(&table, 2, 1);
    writing_init(&text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        table_put(&table, names[i]);
        table_put(&table, "|");
    }
    table_print(&table, 0, &text);
    ck_assert_str_eq(writing_string(&text),
                     "\xe4\xb8\xad\xe6\x96\x87                                     |\n"
                     "e\xcc\x81\xcc\xb2                                        |\n"
                     "\xf0\x9f\x98\x80\xef\xbd\xb1                                      |\n"
                     "<script>alert(1)</script>\"'&\\x1b[2J\\x0a  |\n");
    table_deinit(&table);
    writing_deinit(&text);
}

static void expect_shortened(const char *string, size_t width, const char *wanted)
{
    struct writing text;
    writing_init(&text);
    text_append_shortened(&text, string, width);
    ck_assert_str_eq(writing_string(&text), wanted);
    ck_assert_uint_le(text_width(writing_string(&text)), width);
    writing_deinit(&text);
}

TEST(a_name_that_is_too_long_keeps_its_beginning_and_its_end)
{
    expect_shortened("recompilation_churn", 19, "recompilation_churn");
    expect_shortened("recompilation_churn", 16, "recompi..n_churn");
    expect_shortened("recompilation_churn_faults", 16, "recompi.._faults");
    expect_shortened("recompilation_churn", 6, "re..rn");
    expect_shortened("recompilation_churn", 5, "recom");
    expect_shortened("recompilation_churn", 0, "");
    expect_shortened("", 9, "");
    expect_shortened("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 7,
                     "\xe4\xb8\xad..\xe6\x96\x87");
    expect_shortened("abcde\xcc\x81z", 6, "abcde\xcc\x81z");
    expect_shortened("abcdefe\xcc\x81z", 7, "abc..e\xcc\x81z");
    expect_shortened("abcdefgh\xcc\x81z", 6, "ab..h\xcc\x81z");
}

static json_t *read_line(struct writing *text)
{
    ck_assert_uint_gt(text->length, 0);
    ck_assert_int_eq(text->bytes[text->length - 1], '\n');
    json_error_t error;
    json_t *value = json_loads(writing_string(text), 0, &error);
    ck_assert_msg(value != NULL, "%s: %s", error.text, writing_string(text));
    writing_clear(text);
    return value;
}

static const char *read_word(const json_t *line, const char *key)
{
    const char *value = json_string_value(json_object_get(line, key));
    ck_assert_msg(value != NULL, "no %s", key);
    return value;
}

static json_int_t read_number(const json_t *line, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(line, key)), "no %s", key);
    return json_integer_value(json_object_get(line, key));
}

TEST(lines_have_the_documented_fields)
{
    struct writing text;
    struct setup setup;
    writing_init(&text);
    setup_init(&setup);
    setup.seed = UINT64_MAX; /* no double has it */
    ck_assert(setup_set_option(&setup, "defrag", "slide"));
    const struct report_start start = {
        .subcommand = "run", .setup = &setup, .duration_ns = UINT64_MAX};
    json_line_start(&text, &start);
    json_t *line = read_line(&text);
    ck_assert_str_eq(read_word(line, "type"), "start");
    ck_assert_str_eq(read_word(line, "seed"), "18446744073709551615");
    ck_assert_str_eq(read_word(line, "target"), "hbm");
    ck_assert_str_eq(read_word(line, "chip"), "");
    ck_assert_str_eq(read_word(json_object_get(line, "options"), "defrag"), "slide");
    json_decref(line);

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
    line = read_line(&text);
    ck_assert_str_eq(read_word(line, "type"), "verdict");
    ck_assert_str_eq(read_word(line, "verdict"), "premature");
    ck_assert_int_eq(read_number(line, "op"), 17);
    ck_assert_int_eq(read_number(line, "requested_bytes"), 512);
    ck_assert_int_eq(read_number(line, "free_bytes"), 1024);
    ck_assert_str_eq(read_word(line, "reason"), "it fits");
    ck_assert_str_eq(read_word(line, "message"), "RESOURCE_EXHAUSTED\033");
    ck_assert_str_eq(read_word(line, "repro"), "out/x.ops");
    ck_assert_str_eq(read_word(line, "certificate"), "out/x.json");
    json_decref(line);
    json_line_dispute(&text, &oom);
    line = read_line(&text);
    ck_assert_str_eq(read_word(line, "type"), "disputed");
    ck_assert_str_eq(read_word(line, "scenario"), "slow_leak");
    ck_assert_str_eq(read_word(line, "certificate"), "out/x.json");
    json_decref(line);

    verdict.kind = VERDICT_BROKEN;
    verdict.rule = RULE_OVERLAP;
    const struct report_finding finding = {
        .place = place, .verdict = &verdict, .rule = "overlap", .message = "", .repro = "r"};
    json_line_finding(&text, &finding);
    line = read_line(&text);
    ck_assert_str_eq(read_word(line, "type"), "broken");
    ck_assert_str_eq(read_word(line, "rule"), "overlap");
    ck_assert_str_eq(read_word(line, "repro"), "r");
    ck_assert_int_eq(read_number(line, "op"), 17);
    json_decref(line);

    const struct report_end end = {.totals = {.ops = 9,
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
                                   .exit_code = 1};
    json_line_end(&text, &end);
    line = read_line(&text);
    static const char *const keys[] = {"ops",
                                       "ooms",
                                       "justified",
                                       "premature",
                                       "unknown",
                                       "broken",
                                       "exit",
                                       "disputed",
                                       "second_opinions",
                                       "relations_checked",
                                       "certificates_checked"};
    static const json_int_t values[] = {9, 3, 1, 1, 1, 2, 1, 4, 5, 6, 6};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        ck_assert_int_eq(read_number(line, keys[i]), values[i]);
    }
    ck_assert_double_eq_tol(json_real_value(json_object_get(line, "seconds")), 1.234, 1e-9);
    json_decref(line);

    json_line_certificate(&text, "red\033.json", "refuted", "move 3 overlaps");
    line = read_line(&text);
    ck_assert_str_eq(read_word(line, "type"), "certificate");
    ck_assert_str_eq(read_word(line, "file"), "red\033.json");
    ck_assert_str_eq(read_word(line, "result"), "refuted");
    ck_assert_str_eq(read_word(line, "reason"), "move 3 overlaps");
    json_decref(line);

    json_line_entry(&text, &(struct report_entry){.kind = "target",
                                                  .name = "plant",
                                                  .summary = "does harm",
                                                  .breaks = "overlap",
                                                  .options = "defrag=none|slide\ngranule=N\n"});
    line = read_line(&text);
    ck_assert_str_eq(read_word(line, "kind"), "target");
    ck_assert_str_eq(read_word(line, "breaks"), "overlap");
    const json_t *options = json_object_get(line, "options");
    ck_assert_uint_eq(json_object_size(options), 2);
    ck_assert_str_eq(json_string_value(json_object_get(options, "granule")), "N");
    json_decref(line);
    writing_deinit(&text);
}

TEST(the_share_of_premature_refusals_is_told_when_there_are_some)
{
    struct report_result results[] = {
        {.name = "storm", .totals = {.justified = 3000, .premature = 12, .unknown = 40}},
        {.name = "leak", .totals = {.justified = 388}}};
    struct report_end end = {.totals = {.justified = 3388, .premature = 12, .unknown = 40}};
    struct writing text;
    writing_init(&text);
    json_line_end(&text, &end);
    json_t *line = read_line(&text);
    ck_assert_double_eq_tol(json_real_value(json_object_get(line, "premature_share")), 0.003529,
                            1e-9);
    json_decref(line);
    json_line_result(&text, &results[0]);
    line = read_line(&text);
    ck_assert_double_eq_tol(json_real_value(json_object_get(line, "premature_share")), 0.003984,
                            1e-9);
    json_decref(line);

    terminal_end(&text, &end);
    ck_assert_ptr_nonnull(
        strstr(writing_string(&text), "refusals: 12 of 3400 judged were premature (0.35 %)\n"));
    writing_clear(&text);
    const struct setup setup = {.target = "hbm"};
    const struct report_start start = {.subcommand = "run", .setup = &setup};
    const struct report_campaign campaign = {
        .start = &start, .results = results, .result_count = 2, .end = &end};
    terminal_campaign(&text, &campaign);
    ck_assert_ptr_nonnull(strstr(writing_string(&text),
                                 "\nstorm: refusals: 12 of 3012 judged were premature (0.39 %)\n"
                                 "refusals: 12 of 3400 judged were premature (0.35 %)\n"));
    ck_assert_ptr_null(strstr(writing_string(&text), "leak: refusals"));
    writing_clear(&text);
    end.totals = results[1].totals;
    terminal_end(&text, &end);
    ck_assert_ptr_null(strstr(writing_string(&text), "refusals"));
    writing_deinit(&text);
}

TEST(a_refusal_says_what_would_have_been_served)
{
    static const struct {
        struct oracle_largest largest;
        const char *words;
        bool is_bound;
    } cases[] = {
        {{.bytes = 1 << 20, .is_exact = true},
         "1.00M (1048576 bytes) would have been served\n",
         false},
        {{.bytes = 1 << 20}, "at least 1.00M (1048576 bytes) would have been served\n", true},
        {{.is_exact = true}, "no size would have been served\n", false},
        {{0}, "not found within the budget\n", true},
    };
    const struct verdict verdict = {.kind = VERDICT_PREMATURE, .rule = RULE_PREMATURE};
    struct writing text;
    writing_init(&text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        const struct report_finding finding = {
            .verdict = &verdict, .rule = "premature", .message = "", .largest = &cases[i].largest};
        json_line_finding(&text, &finding);
        json_t *line = read_line(&text);
        ck_assert_int_eq(read_number(line, "largest_served_bytes"),
                         (json_int_t)cases[i].largest.bytes);
        ck_assert_int_eq(json_object_get(line, "largest_served_at_least") != NULL,
                         cases[i].is_bound);
        json_decref(line);
        snprintf(expected, sizeof expected, "  largest %s", cases[i].words);
        terminal_finding(&text, &finding);
        ck_assert_ptr_nonnull(strstr(writing_string(&text), expected));
        writing_clear(&text);
        terminal_oom(&text, &finding);
        ck_assert_ptr_nonnull(strstr(writing_string(&text), expected));
        writing_clear(&text);
    }
    const struct report_finding unasked = {.verdict = &verdict, .rule = "premature", .message = ""};
    json_line_finding(&text, &unasked);
    terminal_finding(&text, &unasked);
    ck_assert_ptr_null(strstr(writing_string(&text), "largest"));
    writing_deinit(&text);
}

TEST(regret_is_told_by_kind_and_not_at_all_when_there_was_none)
{
    struct report_end end = {.totals = {.regretted = 3,
                                        .regrets_unknown = 2,
                                        .regretted_evicted_bytes = 1 << 20,
                                        .regretted_moved_bytes = 512}};
    end.totals.regrets[REGRET_EVICTED_NEEDLESSLY] = 1;
    end.totals.regrets[REGRET_MOVED_TOO_MUCH] = 2;
    struct writing text;
    writing_init(&text);
    json_line_end(&text, &end);
    json_t *line = read_line(&text);
    const json_t *regret = json_object_get(line, "regret");
    ck_assert_uint_eq(json_object_size(regret), 4 + REGRET_KIND_COUNT);
    ck_assert_int_eq(read_number(regret, "requests"), 3);
    ck_assert_int_eq(read_number(regret, "unknown"), 2);
    ck_assert_int_eq(read_number(regret, "evicted_needlessly"), 1);
    ck_assert_int_eq(read_number(regret, "moved_too_much"), 2);
    ck_assert_int_eq(read_number(regret, "in_vain"), 0);
    ck_assert_int_eq(read_number(regret, "evicted_bytes"), 1 << 20);
    ck_assert_int_eq(read_number(regret, "moved_bytes"), 512);
    json_decref(line);

    terminal_end(&text, &end);
    ck_assert_ptr_nonnull(
        strstr(writing_string(&text),
               "regret: 3 requests cost more than necessary (1 evicted_needlessly, 2\n"
               "  moved_too_much): beyond the cheapest plans, 1.00M evicted and 512B moved; for\n"
               "  2 more, "));
    writing_clear(&text);
    end.totals = (struct run_totals){0};
    terminal_end(&text, &end);
    ck_assert_ptr_null(strstr(writing_string(&text), "regret"));
    writing_deinit(&text);
}

/* --- the closing line --- */

struct closing {
    struct report_end end;
    const char *line;
};

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
    struct writing text;
    writing_init(&text);
    json_line_result(&text, &results[0]);
    json_t *line = read_line(&text);
    const json_t *costs = json_object_get(line, "costs"), *calls = json_object_get(costs, "calls");
    const json_t *classes = json_object_get(costs, "by_blocks"), *few = json_array_get(classes, 0);
    ck_assert_int_eq(read_number(costs, "ops"), 1200);
    ck_assert_int_eq(read_number(calls, "p50"), 0);
    ck_assert_int_eq(read_number(calls, "p99"), 6);
    ck_assert_int_eq(read_number(calls, "p99.9"), 6);
    ck_assert_int_eq(read_number(calls, "max"), 6);
    ck_assert_str_eq(json_string_value(json_object_get(calls, "growth")), "constant");
    ck_assert_int_eq(read_number(json_object_get(costs, "moved_bytes"), "max"), 65536);
    ck_assert_uint_eq(json_array_size(classes), 2);
    ck_assert_int_eq(read_number(few, "from"), 7);
    ck_assert_int_eq(read_number(few, "to"), 14);
    ck_assert_int_eq(read_number(few, "ops"), 1000);
    ck_assert_int_eq(read_number(few, "effects"), 20);
    ck_assert_int_eq(read_number(few, "calls"), 120);
    ck_assert_int_eq(read_number(few, "moved_bytes"), 20 * 65536);
    ck_assert_int_eq(read_number(few, "asked_bytes"), 512000);
    json_decref(line);
    terminal_results(&text, results, 2);
    ck_assert_ptr_nonnull(
        strstr(writing_string(&text),
               "\ndevice calls an op  p99  max    growth  moved p99    max    growth\n"
               "storm                 6    6  constant      64.0K  64.0K  constant\n"
               "\n"));
    writing_deinit(&text);
}

TEST(where_the_device_is_not_called_no_costs_are_told)
{
    const struct report_result result = {.name = "quiet", .totals = {.ops = 9}};
    struct writing text;
    writing_init(&text);
    json_line_result(&text, &result);
    terminal_results(&text, &result, 1);
    ck_assert_ptr_null(strstr(writing_string(&text), "costs"));
    ck_assert_ptr_null(strstr(writing_string(&text), "device calls an op"));
    writing_deinit(&text);
}

TEST(the_closing_line_claims_no_more_than_is_true)
{
    const struct closing closings[] = {
        {{.exit_code = 0}, "every promise kept, every OOM judged: "},
        {{.totals = {.excused = 1}}, "every promise kept, 1 answer not judged: "},
        {{.totals = {.excused = 7}, .exit_code = 4, .is_interrupted = true},
         "interrupted; so far every promise kept, 7 answers not judged: "},
        {{.totals = {.unknown = 1, .unknown_by_class = {0, 1, 0}},
          .allowed = {.unknown = {9, 2, 9}, .has_unknown_rate = 1}},
         "every promise kept, 1 unknown of 2 allowed (aligned): "},
        {{.totals = {.excused = 3, .unknown = 5, .unknown_by_class = {2, 0, 3}},
          .allowed = {.unknown = {2, 0, 3}, .has_unknown_rate = 1}},
         "every promise kept, 3 answers not judged, 2 unknown of 2 allowed (plain), 3 unknown of 3 "
         "allowed (held): "},
        {{.totals = {.unknown = 1, .unknown_by_class = {1}}, .exit_code = 3},
         "no promise broken, but an OOM stayed unknown: "},
        {{.totals = {.unknown = 1, .unknown_by_class = {1}},
          .allowed = {.unknown = {0, 8, 8}, .has_unknown_rate = 1},
          .exit_code = 3},
         "no promise broken, but an OOM stayed unknown, 1 unknown of 0 allowed (plain): "},
        {{.totals = {.unrepeated = 2}, .allowed = {.unrepeated = 3}},
         "every promise kept, 2 unrepeated of 3 allowed: "},
        {{.totals = {.unrepeated = 2}, .allowed = {.unrepeated = 1}, .exit_code = 3},
         "no promise broken for certain, but a verdict cannot be repeated, 2 unrepeated of 1 "
         "allowed: "},
        {{.totals = {.broken = 1, .unrepeated = 2}, .exit_code = 1},
         "a promise was broken, 2 unrepeated of 0 allowed: "},
        {{.totals = {.unrepeated = 1, .unknown = 1, .unknown_by_class = {1}}, .exit_code = 3},
         "no promise broken, but an OOM stayed unknown, 1 unrepeated of 0 allowed: "},
        {{.totals = {.excused = 7, .broken = 1}, .exit_code = 1}, "a promise was broken: "},
        {{.totals = {.excused = 7}, .exit_code = 4}, "the harness failed: "},
    };
    struct writing text;
    writing_init(&text);
    for (size_t i = 0; i < sizeof closings / sizeof *closings; i++) {
        writing_clear(&text);
        terminal_closing(&text, &closings[i].end); /* whole, before it is made to fit */
        const char *line = writing_string(&text);
        ck_assert_msg(strncmp(line, closings[i].line, strlen(closings[i].line)) == 0, "%s", line);
    }
    writing_deinit(&text);
}

TEST(what_is_unknown_and_allowed_has_its_members)
{
    struct report_end end = {.totals = {.unknown = 5, .unknown_by_class = {2, 0, 3}},
                             .allowed = {.unknown = {4, 5, 6}}};
    struct writing text;
    writing_init(&text);
    json_line_end(&text, &end);
    json_t *line = read_line(&text);
    ck_assert_int_eq(read_number(json_object_get(line, "unknown_by_class"), "held"), 3);
    ck_assert_ptr_null(json_object_get(line, "unknown_allowed"));
    json_decref(line);
    end.allowed.has_unknown_rate = 1;
    end.totals = (struct run_totals){0};
    json_line_end(&text, &end);
    line = read_line(&text);
    ck_assert_ptr_null(json_object_get(line, "unknown_by_class"));
    ck_assert_int_eq(read_number(json_object_get(line, "unknown_allowed"), "aligned"), 5);
    json_decref(line);
    writing_deinit(&text);
}

TEST(a_rate_needs_no_wide_numbers)
{
    ck_assert_uint_eq(per_second(5, 0), 0);
    ck_assert_uint_eq(per_second(1000, 1000000000), 1000);
    ck_assert_uint_eq(per_second(UINT64_MAX, UINT64_C(1000000000)), UINT64_MAX / 1000000 * 1000000);
}
