/* Findings beside the change that is reviewed: what GitHub and GitLab show next to a line of a
 * file. A subcommand adds its findings, and prints them in the form of the one that asks. */
#ifndef PRESENT_ANNOTATION_H
#define PRESENT_ANNOTATION_H

#include "harness/base/writing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum annotation_form {
    ANNOTATION_NONE = 0, /* nobody asked */
    ANNOTATION_GITHUB,
    ANNOTATION_GITLAB,
    ANNOTATION_FORM_COUNT
};

/* The file that GitLab reads, in the folder of the output. */
#define ANNOTATION_GITLAB_NAME "gl-code-quality-report.json"

enum annotation_level {
    ANNOTATION_ERROR,   /* fails the check */
    ANNOTATION_WARNING, /* something is left open */
    ANNOTATION_NOTICE,  /* known, or allowed */
    ANNOTATION_LEVEL_COUNT
};

/* One finding.  Texts may hold any bytes. */
struct annotation {
    enum annotation_level level;
    const char *file;        /* its path; NULL: it has none */
    uint64_t line;           /* from 1; 0: of no line */
    const char *title;       /* a few words */
    const char *message;     /* lines */
    const char *rule;        /* what is broken, in one word: "premature", "peak" */
    const char *fingerprint; /* the same in each run; NULL: made of rule, title and file */
};

/* Zero is a valid start.  It owns its texts. */
struct annotations {
    struct annotation *items; /* count of them, in the order in which they were added */
    size_t count, capacity;
};
void annotations_deinit(struct annotations *annotations);

/* Adds a copy; rule, title and message are not NULL. */
void annotations_add(struct annotations *annotations, const struct annotation *annotation);

/* Fills text with a hash of string, in 16 hexadecimal digits. */
enum { ANNOTATION_HASH_BYTES = 17 };
void annotation_print_hash(const char *string, char text[ANNOTATION_HASH_BYTES]);

/* The fingerprint of one that is given none: a hash of rule, title and file, the same in each run.
 */
void annotation_print_fingerprint(const struct annotation *annotation,
                                  char text[ANNOTATION_HASH_BYTES]);

/* The path without "./" before it: both want it from the root of the repository. */
const char *annotation_path(const char *file);

/* Appends workflow commands, a line each.  A step shows ten of each level: where there are more,
 * the tenth counts the others.  Source: "Workflow commands for GitHub Actions" in its
 * documentation. */
void annotations_print_github(struct writing *text, const struct annotations *annotations);

/* Appends text, whose lines have names of others in them, so that a runner reads no command in it:
 * "::" at the beginning of a line, or "##[" anywhere, gets a blank.  With is_json it has the same
 * meaning as before.  Source: ActionCommand.cs of github.com/actions/runner. */
void annotation_append_disarmed(struct writing *disarmed, const struct writing *text, bool is_json);

/* Appends a Code Quality report: a JSON array, "[]" without any.  What has no file is at ".".
 * Source: "Code Quality report format" in GitLab's documentation. */
void annotations_print_gitlab(struct writing *text, const struct annotations *annotations);

/* Appends a section in Markdown: heading as text, and a table of at most 50 rows. */
void annotations_print_markdown(struct writing *text, const char *heading,
                                const struct annotations *annotations);

#endif
