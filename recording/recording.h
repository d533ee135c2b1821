/* A recorded list, read from a file, with what the command line overrides and its target: what
 * replay, explain and shrink begin with. */
#ifndef RECORDING_RECORDING_H
#define RECORDING_RECORDING_H

#include "campaign/base/message.h"
#include "campaign/plan/run_options.h"
#include "campaign/process/child.h"
#include "formats/formats.h"
#include "harness/base/writing.h"
#include "harness/run/run.h"

#include <stddef.h>
#include <stdint.h>

/* How to read a file.  Texts belong to the caller. */
struct recording_options {
    const struct run_options *run;                     /* what goes over the setup of the file */
    const char *format;                                /* by name; NULL: it is recognised */
    uint64_t kv_bytes_per_token, kv_tokens_per_second; /* of request traces; 0 = the default */
};

struct recording {
    struct setup setup;
    struct op_list ops;
    const struct target *target;
    const struct format *format; /* NULL: read as ops */
    enum import_view view;
    struct said *said; /* what the file says happened; said_count of them */
    size_t said_count;
    /* as in struct import */
    char assumed[IMPORT_NOTES_BYTES];
    char told[IMPORT_NOTES_BYTES];
    char message[IMPORT_MESSAGE_BYTES];
    size_t message_line;
    char devices[OP_HOST_COUNT_MAX][IMPORT_DEVICE_BYTES];
    struct compile_report *compile_report; /* owned; NULL: FILE is none, or of another reader */
    bool accepts_no_list;                  /* see recording_read_to_tell */
    bool with_stacks;                      /* see recording_read_to_show */
    struct stacks *stacks;  /* owned; of what ops make; NULL: not asked for, or FILE has none */
    struct log_story story; /* what the file tells as the log of a job */
    char why_no_list[IMPORT_REASON_BYTES]; /* "" = there is a list; else all that is set is the
                                            * story, and compile_report with its message */
    char settings[IMPORT_SETTINGS_BYTES];
};

/* Reads an .ops file, - being standard input; with any_format every format that `convert` knows.
 * The target is opened once, so that what it refuses is told now.  EXIT_KEPT, or another code after
 * one message; deinit in both cases. */
enum exit_code recording_read(const char *path, struct recording_options options, bool any_format,
                              struct recording *recording);
/* Like recording_read() with any_format, also for a directory of logs.  Three files without a list
 * are no failure here: a compiler's report of which none can be made; a log that reports something
 * other than an out-of-memory; a log of one that no importer reads.  why_no_list then says what is
 * missing, and there are no ops and no target. */
enum exit_code recording_read_to_tell(const char *path, struct recording_options options,
                                      struct recording *recording);
/* The same, and with the stacks that the file has. */
enum exit_code recording_read_to_show(const char *path, struct recording_options options,
                                      struct recording *recording);
void recording_deinit(struct recording *recording);

/* True if the capacity is no fact of the file: its importer chose it. */
bool recording_capacity_is_assumed(const struct recording *recording);

/* Imports a file of any format; notes are lines about what was assumed.  The same codes. */
enum exit_code recording_import(const char *path, struct recording_options options,
                                struct recording *recording, struct writing *notes);

/* Names a device in the words of the system that a list comes from. */

enum { DEVICE_NAME_BYTES = SETUP_NAME_BYTES };

/* Prints the name as the file has it, or "GPU 1"; "TPU 1x0x0_HBM0", with the coordinate as messages
 * print it; "host 1" where the system is not known.  Returns name. */
const char *device_name(const struct recording *recording, uint32_t host,
                        char name[DEVICE_NAME_BYTES]);

/* Finds the line of its file in which an op stands. */

/* Returns the line, from 1.  0: not known, as the file is no plain .ops file that can be read
 * (standard input, a trace, a packed list), or has no such op.  O(length of the file). */
size_t op_line_find(const char *path, uint32_t op);

/* The pieces of a line that does the same again, each with a blank before it and quoted as a shell
 * needs it. */

void repeat_word(struct writing *text, const char *word);
/* " NAME VALUE"; nothing for NULL. */
void repeat_option(struct writing *text, const char *name, const char *value);
/* The same; nothing for 0. */
void repeat_number(struct writing *text, const char *name, uint64_t value);

/* Appends the options by which the command line changed the file's setup: target, options, device,
 * hosts and regrets.  Without them a replay repeats another run. */
void repeat_setup(struct writing *text, const struct run_options *options);

/* Runs work that calls a target in a process of its own.  A target that dies or hangs is an answer;
 * any other failure ends the subcommand. */

/* Runs work within the time-outs of the options and appends what it answers.  EXIT_KEPT and *end
 * (DONE, DIED, STOPPED for a hang; *death says how), or EXIT_HARNESS after one message: the user
 * interrupted, there is no process, or a CHECK of ours did not hold. */
enum exit_code target_child(const struct run_options *options, struct death *death,
                            void (*work)(void *context, int file), void *context,
                            struct writing *answer, enum child_end *end);

/* The target that is asked, and the question; work answers with plain data. */
struct target_question {
    const struct run_options *options;
    struct death *death;
    void (*work)(void *context, int file);
    void *context;
};
struct target_reply {
    enum exit_code code;           /* of target_child() */
    bool is_whole;                 /* the answer came */
    bool is_dead;                  /* the target took its process with it, or hung */
    char words[DEATH_WORDS_BYTES]; /* how; "" where is_whole, or code is not KEPT */
};
/* Asks in a process of its own.  The answer is length bytes, which go to *to, and more_length bytes
 * behind them, which go to *more (NULL: nowhere).  Nothing is written where it is not whole. */
struct target_reply target_ask(const struct target_question *question, void *to, size_t length,
                               void *more, size_t more_length);

#endif
