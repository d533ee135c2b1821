/* A case while it runs: what its files share.  case_words.c reads the words of a line, case_list.c
 * makes its list of ops and what the target promises, case_acts.c has what the target does to its
 * device, case_facts.c what is compared; run_cases.c carries out the steps. */
#ifndef TESTS_CASES_CASE_H
#define TESTS_CASES_CASE_H

#include "harness/op/ops_file.h"
#include "tests/cases/case_file.h"
#include "tests/harness/rules/overlap_rig.h"
#include "tests/helpers/suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The case, and its line that is carried out. */
struct case_now {
    const struct test_case *test;
    const struct case_line *line;
    struct setup setup;
    struct op_list list;
    bool is_real, is_partial, overlaps, goes_on, hears_one; /* as its setup says */
    const char *flaw;           /* why the target cannot be opened; NULL: it can */
    struct target partial;      /* the scripted target without some of its calls */
    const struct verdict *said; /* the last one, or that on the op that a line names */
    const char *acts;           /* of the call that is next */
    uint32_t acting_host;       /* that of the call */
};
extern struct case_now now;

/* Ends the case: its file and line, the words, and the line as it is written. */
#define FAIL(...)                                                                       \
    do {                                                                                \
        char words[1600];                                                               \
        snprintf(words, sizeof words, __VA_ARGS__);                                     \
        ck_abort_msg("%s:%zu: %s\n    in: %s", now.test->file, now.line->number, words, \
                     now.line->text);                                                   \
    } while (0)

/* --- words --- */

enum { WORD_BYTES = 256 };
bool begins(const char *text, const char *word);
/* The next word, up to a blank or a comma; a text in quotes is one.  need_ fails the case where
 * there is none, or no number.  Bytes: a number of granules, or with the suffix B of bytes. */
bool next_word(const char **at, char word[WORD_BYTES]);
void need_word(const char **at, char word[WORD_BYTES]);
uint64_t read_number(const char *word);
uint64_t need_number(const char **at);
uint64_t read_bytes(char *word);
uint64_t need_bytes(const char **at);
/* Without the quotes; it is kept for the time of the case. */
const char *unquoted(const char *word);
/* Cuts off "-> ANSWER: VERDICT"; both "" where there is none. */
void split_step(char *text, char **answer, char **verdict);

/* --- what the case has --- */

bool is_step(const char *text);
/* Reads setup and ops into the list of the case; hosts have what the script promises. */
void read_list(struct target_contract hosts[HOST_COUNT]);
/* Carries out all acts that are listed: "moved 3 to 0, waited 1"; and those of now.acts. */
void act_all(const char *at);
void act_in_call(void);
/* Before each case. */
void acts_begin(void);
/* The latest stage that is in host memory. */
uint64_t acts_stage(void);
enum { VERDICT_TEXT_BYTES = 768 };
/* "justified", "broken spmd (mechanism) \"the reason\"", each in part as written. */
void check_verdict(const struct verdict *verdict, const char *wanted);
/* What stands behind "then". */
void check_facts(const char *at);

#endif
