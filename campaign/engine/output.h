/* The output of a run's lines: standard output and OUT/results.jsonl.  Every failed write is
 * noticed and reported once. */
#ifndef CAMPAIGN_ENGINE_OUTPUT_H
#define CAMPAIGN_ENGINE_OUTPUT_H

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "harness/base/shell.h"
#include "harness/base/writing.h"
#include "present/annotation.h"
#include "present/facts.h"
#include "present/reporter.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { OUTPUT_PATH_BYTES = FILE_PATH_BYTES };
/* The line that replays what is there, the path quoted as a shell needs it. */
enum { OUTPUT_REPLAY_BYTES = SHELL_WORD_BYTES(OUTPUT_PATH_BYTES) + 128 };

/* results.jsonl has whole lines only, whenever the program ends and however. */
struct output {
    bool is_json;                 /* standard output gets JSON lines, else text */
    bool is_of_github;            /* a runner reads standard output: no text is a command there */
    bool is_pipe_closed;          /* nobody reads standard output any more: quiet from now on */
    bool is_failed;               /* a message was given; the exit code is EXIT_HARNESS */
    bool is_silent;               /* the first failure was told elsewhere: one line is enough */
    int results;                  /* the file; -1 = none */
    uint64_t results_bytes;       /* its length; what waits counts */
    struct writing waiting;       /* lines that output_flush writes */
    char path[OUTPUT_PATH_BYTES]; /* of results.jsonl */
};

/* Standard output alone. */
void output_init(struct output *output, bool is_json);

/* Makes directory (and those above it) and opens its results.jsonl, cut to saved_bytes: what a
 * campaign that goes on knows of.  The reports of a campaign that ended there are removed first,
 * and with 0 what it left to go on with. EXIT_KEPT, or another code after one message: another
 * process writes there, the file is shorter than that, or the world does not let us. */
enum exit_code output_open_results(struct output *output, const char *directory,
                                   uint64_t saved_bytes);

/* A JSON line, for both places. */
void output_line(struct output *output, const struct writing *line);
/* The same, one place each. */
void output_line_to_results(struct output *output, const struct writing *line);
void output_line_to_standard(struct output *output, const struct writing *line);
/* Text for people: dropped with is_json. */
void output_text(struct output *output, const struct writing *text);
/* Facts, in the form of the output; flushes, and clears them. */
void output_facts(struct output *output, struct facts *facts);
/* The same as output_line() and output_text(); then the text is clear for the next. */
void output_take_line(struct output *output, struct writing *line);
void output_take_text(struct output *output, struct writing *text);

/* Lines that a CI system reads: to standard output, or to standard error where that has JSON. */
void output_commands(struct output *output, const struct writing *text);
/* Markdown for the page of a step: appended to the file that GITHUB_STEP_SUMMARY names, if it names
 * one. */
void output_step(struct output *output, const struct writing *text);

/* A reporter's put for what has no campaign: lines to both places, text for people, then a flush;
 * documents nowhere.  context is the output. */
bool output_report(void *context, const struct report_sink *sink, enum report_kind kind,
                   const struct writing *text);

/* Makes what was written so far visible, and safe from a kill; from a power cut: see
 * campaign_save. */
void output_flush(struct output *output);

void output_close(struct output *output);

/* Prints the text, which is JSON lines with is_json, and takes it over.  code, or EXIT_HARNESS when
 * it cannot be written. */
enum exit_code output_once(bool is_json, struct writing *text, enum exit_code code);
/* Prints what a child answered: the bytes of its exit code, then text, which is JSON lines with
 * is_json.  That code, or EXIT_HARNESS when it cannot be written. */
enum exit_code output_answer(bool is_json, const struct writing *answer);

/* Prints the findings of a subcommand where GitHub or GitLab show them next to a change.  A
 * campaign does not use this: a reporter writes its documents (present/review.h). */

/* Before anything is measured: removes the report that GitLab would read from --out (default out).
 * EXIT_KEPT, or EXIT_HARNESS after one message. */
enum exit_code annotate_begin(const struct run_options *options);

/* Prints in the form of options->annotation, and nothing without one.  That is workflow commands by
 * output_commands() and a section for the page of the step, below heading; or the report of GitLab
 * in --out, which is made.  EXIT_KEPT, or after one message another code. */
enum exit_code annotate_put(const struct run_options *options, struct output *output,
                            const char *heading, const struct annotations *annotations);

#endif
