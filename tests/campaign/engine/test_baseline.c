/* Findings of a campaign, and the file of known ones: what is counted, what is read, what is
 * refused, and what is printed. */
#include "campaign/engine/findings.h"
#include "tests/campaign/shown.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define HEAD "hbmstress-baseline 1\n"

enum { TEXT_BYTES = 1024 };

static struct baseline baseline;

static void enter(void)
{
    folder_enter("baseline");
}

static void leave(void)
{
    snap_rest();
    baseline_deinit(&baseline);
    folder_leave();
}

EVERY_TEST(.setup = enter, .teardown = leave);

/* tests/snap/report_baseline.snap has what is said of files that are refused. */
static void read_text(const char *text)
{
    baseline_deinit(&baseline);
    folder_write("known", text);
    ck_assert_int_eq(baseline_read(folder_path("known"), &baseline), EXIT_KEPT);
}

TEST(a_file_of_known_findings_is_read)
{
    static const char text[] = "# before it\n\n" HEAD
                               "finding: a\nreason: it is old\n# behind it\n";
    read_text(text);
    ck_assert_uint_eq(baseline.count, 1);
    ck_assert(baseline_has(&baseline, "a"));
    ck_assert(!baseline_has(&baseline, "b"));
    baseline_deinit(&baseline);
    ck_assert_uint_eq(baseline.count, 0);
    /* The last line may lack its end; so may a signature be as long as it can. */
    char longest[TEXT_BYTES] = HEAD "finding: ";
    memset(longest + strlen(longest), 'x', SIGNATURE_BYTES - 1);
    strcat(longest, "\nreason: \t.");
    read_text(longest);
    ck_assert_uint_eq(strlen(baseline.signatures[0]), SIGNATURE_BYTES - 1);
}

TEST(many_known_findings_are_all_known)
{
    struct writing text;
    char signature[32];
    writing_init(&text);
    writing_append(&text, HEAD);
    for (unsigned i = 0; i < 50; i++) {
        writing_append_format(&text, "finding: number %u\nreason: r\n", i);
    }
    read_text(text.bytes);
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(signature, sizeof signature, "number %u", i);
        ck_assert(baseline_has(&baseline, signature));
    }
    writing_deinit(&text);
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
    snap(text.bytes);
    writing_deinit(&text);
    findings_deinit(&findings);
}

TEST(what_showed_another_finding_is_counted_there)
{
    struct findings findings;
    add_findings(&findings);
    SHOW(findings_shown_count(&findings), findings_new_count(&findings),
         findings_shown_in(&findings, 0), findings_shown_in(&findings, 1));
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

static void show_report(struct findings *findings)
{
    static const char *const part_names[] = {"storm", "leak"};
    struct report_known *known = findings_report(findings, "out/a b", part_names);
    for (size_t i = 0; i < findings_shown_count(findings); i++) {
        const struct report_known *at = &known[i];
        SHOW(at->signature, at->rule, at->count, at->op_count, at->is_known, at->seed);
        const bool has_largest = at->largest != NULL;
        SHOW(at->first.scenario, at->first.trial, has_largest);
        GIVEN(has_largest ? at->largest->bytes : 0);
        SHOW(at->repro, at->replay, at->certificate);
        GIVEN(at->repeats.is_unrepeated, at->repeats.after_count);
        for (size_t k = 0; k < at->repeats.after_count; k++) {
            SHOW(at->repeats.after[k]);
        }
    }
    findings_free_report(known, findings_shown_count(findings));
    findings_deinit(findings);
    snap_shown();
}

TEST(the_line_of_a_finding_names_what_runs_before_it)
{
    struct findings findings;
    add_findings(&findings);
    findings.findings[2].before_count = 2;
    findings.findings[2].is_unrepeated = 1;
    show_report(&findings);
}

TEST(the_gravest_findings_are_told_first_with_their_files)
{
    struct findings findings;
    add_findings(&findings);
    show_report(&findings);
}

/* The first three are; beyond them only what may show another, as some did. */
TEST(a_finding_is_shrunk_a_few_times)
{
    static const struct {
        uint64_t number, moved_count, stayed_count;
    } rows[] = {{1, 0, 0}, {3, 0, 2}, {3, 2, 0}, {4, 0, 3}, {4, 3, 0},
                {4, 1, 2}, {4, 0, 0}, {8, 4, 2}, {8, 1, 3}, {64, 6, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct finding finding = {.moved_count = rows[i].moved_count,
                                        .stayed_count = rows[i].stayed_count};
        SHOW(rows[i].number, finding.moved_count, finding.stayed_count,
             finding_is_to_shrink(&finding, rows[i].number));
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
    findings_settle(&findings);                   /* once is enough */
    for (size_t i = 0; i < findings.count; i++) { /* two of others moved to c */
        const struct finding *found = &findings.findings[i];
        SHOW(found->signature, found->count, found->moved_count, finding_is_shown(found));
    }
    findings_deinit(&findings);
}
