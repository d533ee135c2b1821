/* Findings of a campaign, and the file of known ones: what is counted, what is read, what is
 * refused, and what is printed. */
#include "campaign/engine/findings.h"
#include "tests/helpers/messages.h"
#include "tests/helpers/scratch.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define HEAD "hbmstress-baseline 1\n"

enum { MESSAGE_BYTES = 512, TEXT_BYTES = 1024 };

/* Reads the bytes as a file; message is what was said without the place, "" when it was accepted.
 */
static enum exit_code read_bytes(const char *bytes, size_t length, struct baseline *baseline,
                                 char message[MESSAGE_BYTES])
{
    char path[SCRATCH_PATH_BYTES], text[MESSAGE_BYTES];
    scratch_name(path, "baseline");
    const int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, bytes, length), (ssize_t)length);
    close(file);
    const int before = messages_begin();
    const enum exit_code code = baseline_read(path, baseline);
    messages_end(before, text, sizeof text);
    (void)unlink(path);
    const char *behind = strstr(text, path);
    ck_assert_int_eq(behind == NULL, code == EXIT_KEPT);
    (void)snprintf(message, MESSAGE_BYTES, "%s", behind == NULL ? text : behind + strlen(path) + 1);
    return code;
}

TEST(a_file_of_known_findings_is_read)
{
    static const char text[] = "# before it\n\n" HEAD
                               "finding: a\nreason: it is old\n# behind it\n";
    struct baseline baseline;
    char message[MESSAGE_BYTES];
    ck_assert_int_eq(read_bytes(text, strlen(text), &baseline, message), EXIT_KEPT);
    ck_assert_uint_eq(baseline.count, 1);
    ck_assert(baseline_has(&baseline, "a"));
    ck_assert(!baseline_has(&baseline, "b"));
    baseline_deinit(&baseline);
    ck_assert_uint_eq(baseline.count, 0);
    /* The last line may lack its end; so may a signature be as long as it can. */
    char longest[TEXT_BYTES] = HEAD "finding: ";
    memset(longest + strlen(longest), 'x', SIGNATURE_BYTES - 1);
    strcat(longest, "\nreason: \t.");
    ck_assert_int_eq(read_bytes(longest, strlen(longest), &baseline, message), EXIT_KEPT);
    ck_assert_uint_eq(strlen(baseline.signatures[0]), SIGNATURE_BYTES - 1);
    baseline_deinit(&baseline);
}

TEST(many_known_findings_are_all_known)
{
    struct baseline baseline;
    struct writing text;
    char message[MESSAGE_BYTES], signature[32];
    writing_init(&text);
    writing_append(&text, HEAD);
    for (unsigned i = 0; i < 50; i++) {
        writing_append_format(&text, "finding: number %u\nreason: r\n", i);
    }
    ck_assert_int_eq(read_bytes(text.bytes, text.length, &baseline, message), EXIT_KEPT);
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(signature, sizeof signature, "number %u", i);
        ck_assert(baseline_has(&baseline, signature));
    }
    baseline_deinit(&baseline);
    writing_deinit(&text);
}

TEST(what_is_no_such_file_is_refused_with_its_line)
{
    char too_long[TEXT_BYTES] = HEAD "finding: ";
    memset(too_long + strlen(too_long), 'x', SIGNATURE_BYTES);
    const struct {
        const char *text, *message;
    } rows[] = {
        {"", " this is no baseline: it is empty\n"},
        {"# a comment", " this is no baseline: it is empty\n"},
        {"hbmstress-baseline 2\n",
         "1: this is no baseline: it does not begin with 'hbmstress-baseline 1'\n"},
        {"\nfinding: a\n" HEAD,
         "2: this is no baseline: it does not begin with 'hbmstress-baseline 1'\n"},
        {HEAD HEAD, "2: neither 'finding: …' nor 'reason: …' nor a comment with '#'\n"},
        {HEAD "finding: a\nfinding: b\n",
         "3: the finding above has no reason; a line 'reason: …' follows it\n"},
        {HEAD "finding: \n", "2: a signature has 1 to 159 bytes\n"},
        {too_long, "2: a signature has 1 to 159 bytes\n"},
        {HEAD "finding: a\nreason: r\n\nfinding: a\nreason: r\n",
         "5: this finding is listed twice\n"},
        {HEAD "reason: r\n", "2: a reason follows its finding, and each finding has one\n"},
        {HEAD "finding: a\nreason: r\nreason: r\n",
         "4: a reason follows its finding, and each finding has one\n"},
        {HEAD "finding: a\nreason:  \t\n",
         "3: the reason is empty; it says why the finding is accepted\n"},
        {HEAD "finding: a", "2: the last finding has no reason\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct baseline baseline;
        char message[MESSAGE_BYTES];
        ck_assert_int_eq(read_bytes(rows[i].text, strlen(rows[i].text), &baseline, message),
                         EXIT_USAGE);
        ck_assert_str_eq(message, rows[i].message);
        baseline_deinit(&baseline);
    }
    struct baseline baseline;
    char message[MESSAGE_BYTES];
    ck_assert_int_eq(read_bytes(HEAD "\0\n", sizeof HEAD + 1, &baseline, message), EXIT_USAGE);
    ck_assert_str_eq(message, " this is no baseline: it has a NUL byte\n");
    baseline_deinit(&baseline);
}

static struct finding make_finding(const char *signature, const char *rule, uint64_t count,
                                   uint64_t moved_count)
{
    struct finding finding = {.count = count, .moved_count = moved_count, .op_count = 7};
    (void)snprintf(finding.signature, sizeof finding.signature, "%s", signature);
    (void)snprintf(finding.rule, sizeof finding.rule, "%s", rule);
    (void)snprintf(finding.reason, sizeof finding.reason, "it is %s", signature);
    return finding;
}

static void add_findings(struct findings *findings)
{
    struct finding made[] = {
        make_finding("numbers", "counters", 5, 2), make_finding("moved", "overlap", 2, 2),
        make_finding("harm", "overlap", 3, 2), make_finding("answer", "premature", 1, 0)};
    *findings = (struct findings){0};
    made[2].is_known = 1;
    made[2].part = 1;
    made[3].part = 1;
    made[3].trial = 4;
    made[3].seed = 99;
    made[3].has_largest = 1;
    made[3].largest.bytes = 4096;
    made[3].reason[0] = '\0';
    strcpy(made[0].base, "it's here");
    strcpy(made[2].base, "harm-1");
    made[2].has_certificate = 1;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        ck_assert_str_eq(findings_add(findings, &made[i])->signature, made[i].signature);
    }
}

TEST(a_baseline_has_the_findings_that_are_shown)
{
    struct findings findings;
    struct writing text;
    add_findings(&findings);
    strcpy(findings.findings[2].reason, "x");
    writing_init(&text);
    baseline_print(&findings, "a\033b", &text);
    ck_assert_str_eq(text.bytes,
                     HEAD "# Known findings of target a\\x1bb, for hbmstress run --baseline FILE.\n"
                          "# Replace each reason with the one for which you accept the finding.\n\n"
                          "finding: numbers\nreason: it is numbers (seen 3 times, in 7 ops)\n\n"
                          "finding: harm\nreason: x (seen 1 times, in 7 ops)\n\n"
                          "finding: answer\nreason: no words (seen 1 times, in 7 ops)\n\n");
    writing_deinit(&text);
    findings_deinit(&findings);
}

TEST(what_showed_another_finding_is_counted_there)
{
    struct findings findings;
    add_findings(&findings);
    ck_assert_uint_eq(findings_shown_count(&findings), 3);
    ck_assert_uint_eq(findings_new_count(&findings), 2);
    ck_assert_uint_eq(findings_shown_in(&findings, 0), 1);
    ck_assert_uint_eq(findings_shown_in(&findings, 1), 2);
    ck_assert_ptr_eq(findings_find(&findings, "harm"), &findings.findings[2]);
    ck_assert_ptr_null(findings_find(&findings, "har"));
    findings_deinit(&findings);
    ck_assert_uint_eq(findings.count, 0);
}

TEST(what_nobody_can_repeat_is_no_finding)
{
    struct finding finding = {.count = 3, .moved_count = 1, .unrepeated_count = 2};
    ck_assert(!finding_is_shown(&finding));
    ck_assert_uint_eq(finding_own_count(&finding), 0);
    finding.count = 4; /* the fourth one: looked for again, as every so often */
    ck_assert(finding_is_shown(&finding));
    ck_assert(finding_is_to_shrink(&finding, 4));
    finding.stayed_count = 3;
    ck_assert(!finding_is_to_shrink(&finding, 8));
}

TEST(a_repro_that_shows_again_is_better)
{
    struct finding finding = {.op_count = 0};
    ck_assert(finding_repro_is_better(&finding, 9, 3, true)); /* there is none */
    finding.op_count = 5;
    ck_assert(!finding_repro_is_better(&finding, 5, 0, false));
    ck_assert(finding_repro_is_better(&finding, 4, 0, false));
    ck_assert(!finding_repro_is_better(&finding, 4, 0, true));
    ck_assert(!finding_repro_is_better(&finding, 4, 1, false));
    finding.before_count = 2;
    ck_assert(finding_repro_is_better(&finding, 900, 1, false));
    ck_assert(!finding_repro_is_better(&finding, 5, 2, false));
    finding.is_unrepeated = 1;
    ck_assert(finding_repro_is_better(&finding, 900, 7, false));
    ck_assert(!finding_repro_is_better(&finding, 5, 2, true));
}

TEST(the_line_of_a_finding_names_what_runs_before_it)
{
    static const char *const part_names[] = {"storm", "leak"};
    struct findings findings;
    add_findings(&findings);
    findings.findings[2].before_count = 2;
    findings.findings[2].is_unrepeated = 1;
    struct report_known *known = findings_report(&findings, "out/a b", part_names);
    ck_assert_str_eq(known[0].replay, "hbmstress replay 'out/a b/repros/harm-1.ops' "
                                      "--after 'out/a b/repros/harm-1.before-1.ops' "
                                      "--after 'out/a b/repros/harm-1.before-2.ops'");
    ck_assert_uint_eq(known[0].repeats.after_count, 2);
    ck_assert_str_eq(known[0].repeats.after[1], "out/a b/repros/harm-1.before-2.ops");
    ck_assert(known[0].repeats.is_unrepeated);
    ck_assert_uint_eq(known[1].repeats.after_count, 0);
    ck_assert(!known[1].repeats.is_unrepeated);
    findings_free_report(known, findings_shown_count(&findings));
    findings_deinit(&findings);
}

TEST(the_gravest_findings_are_told_first_with_their_files)
{
    static const char *const part_names[] = {"storm", "leak"};
    struct findings findings;
    add_findings(&findings);
    struct report_known *known = findings_report(&findings, "out/a b", part_names);
    ck_assert_str_eq(known[0].signature, "harm");
    ck_assert_uint_eq(known[0].count, 1);
    ck_assert(known[0].is_known);
    ck_assert_str_eq(known[0].repro, "out/a b/repros/harm-1.ops");
    ck_assert_str_eq(known[0].replay, "hbmstress replay 'out/a b/repros/harm-1.ops'");
    ck_assert_str_eq(known[0].certificate, "out/a b/certificates/harm-1.json");
    ck_assert_ptr_null(known[0].largest);
    ck_assert_str_eq(known[1].signature, "answer");
    ck_assert_str_eq(known[1].first.scenario, "leak");
    ck_assert_uint_eq(known[1].first.trial, 4);
    ck_assert_uint_eq(known[1].seed, 99);
    ck_assert_uint_eq(known[1].largest->bytes, 4096);
    ck_assert(!known[1].is_known);
    ck_assert_ptr_null(known[1].repro);
    ck_assert_ptr_null(known[1].replay);
    ck_assert_str_eq(known[2].signature, "numbers");
    ck_assert_str_eq(known[2].rule, "counters");
    ck_assert_uint_eq(known[2].count, 3);
    ck_assert_uint_eq(known[2].op_count, 7);
    ck_assert_str_eq(known[2].replay, "hbmstress replay 'out/a b/repros/it'\\''s here.ops'");
    ck_assert_ptr_null(known[2].certificate);
    findings_free_report(known, 3);
    findings_deinit(&findings);
}

/* The first three are; beyond them only what may show another, as some did. */
TEST(a_finding_is_shrunk_a_few_times)
{
    static const struct {
        uint64_t number, moved_count, stayed_count;
        bool is_to_shrink;
    } rows[] = {{1, 0, 0, true},  {3, 0, 2, true}, {3, 2, 0, true},  {4, 0, 3, false},
                {4, 3, 0, true},  {4, 1, 2, true}, {4, 0, 0, false}, {8, 4, 2, true},
                {8, 1, 3, false}, {64, 6, 0, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct finding finding = {.moved_count = rows[i].moved_count,
                                        .stayed_count = rows[i].stayed_count};
        ck_assert_msg(finding_is_to_shrink(&finding, rows[i].number) == rows[i].is_to_shrink,
                      "row %zu", i);
    }
}

/* As far as they were shrunk, all of the first and the third were another finding. */
TEST(what_was_only_counted_goes_where_the_others_went)
{
    struct findings findings = {.findings = NULL};
    const struct finding made[] = {
        {.signature = "late", .first_order = 9, .count = 3, .seen_count = 1},
        {.signature = "a", .first_order = 1, .count = 7, .seen_count = 7, .moved_count = 3},
        {.signature = "b",
         .first_order = 2,
         .count = 7,
         .seen_count = 7,
         .moved_count = 2,
         .stayed_count = 1},
        {.signature = "c", .first_order = 3, .count = 9, .seen_count = 7, .moved_count = 4}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        strcpy(findings_add(&findings, &made[i])->moved_to, "late");
    }
    findings_settle(&findings);
    const struct finding *found = findings.findings;
    ck_assert_str_eq(found[0].signature, "a");
    ck_assert_str_eq(found[3].signature, "late");
    ck_assert_uint_eq(found[0].moved_count, 7);
    ck_assert(!finding_is_shown(&found[0]));
    ck_assert_uint_eq(found[1].moved_count, 2);
    ck_assert_uint_eq(found[2].moved_count, 7);
    ck_assert(finding_is_shown(&found[2])); /* two of others moved to it */
    ck_assert_uint_eq(found[3].count, 3 + 4 + 3);
    findings_settle(&findings); /* once is enough */
    ck_assert_uint_eq(findings.findings[3].count, 10);
    findings_deinit(&findings);
}
