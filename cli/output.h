/* Where a run's lines go: standard output and OUT/results.jsonl, with every failed write noticed
 * and told once. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "cli/message.h"
#include "reports/writing.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { OUTPUT_PATH_BYTES = 4096 };

/* results is open under partial_path until the end, when the file gets its final name. */
struct output {
    bool is_json;         /* standard output gets JSON lines, else text */
    bool is_pipe_closed;  /* nobody reads standard output any more: quiet from now on */
    bool is_failed;       /* a message was given; the exit code is EXIT_HARNESS */
    bool is_silent;       /* the first failure was told elsewhere: one line is enough */
    FILE *results;        /* NULL = none */
    uint64_t results_bytes;
    char partial_path[OUTPUT_PATH_BYTES], final_path[OUTPUT_PATH_BYTES];
};

/* Standard output alone. */
void output_init(struct output *output, bool is_json);

/* Makes directory (and those above it) and begins its results.jsonl.  EXIT_KEPT, or another code
 * after one message. */
enum exit_code output_open_results(struct output *output, const char *directory);

/* A JSON line, for both places. */
void output_line(struct output *output, const struct writing *line);
/* The same, one place each. */
void output_line_to_results(struct output *output, const struct writing *line);
void output_line_to_standard(struct output *output, const struct writing *line);
/* Text for people: dropped with is_json. */
void output_text(struct output *output, const struct writing *text);

/* Makes what was written so far visible. */
void output_flush(struct output *output);

/* Gives results.jsonl its final name, or removes it when a write failed. */
void output_close(struct output *output);

/* Makes a directory and those above it.  False: errno says why. */
bool make_directories(const char *path);

#endif
