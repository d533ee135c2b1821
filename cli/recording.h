/* A recorded list, read from a file, with what the command line overrides and its target: what
 * replay, explain and shrink begin with. */
#ifndef CLI_RECORDING_H
#define CLI_RECORDING_H

#include "cli/arguments.h"
#include "formats/formats.h"
#include "harness/run/run.h"

struct recording {
    struct setup setup;
    struct op_list ops;
    const struct target *target;
    const struct format *format; /* NULL: read as ops */
    struct said *said;           /* what the file says happened; said_count of them */
    size_t said_count;
    /* as in struct import */
    char assumed[IMPORT_NOTES_BYTES];
    char told[IMPORT_NOTES_BYTES];
    char message[IMPORT_MESSAGE_BYTES];
    size_t message_line;
    char devices[OP_HOST_COUNT_MAX][IMPORT_DEVICE_BYTES];
    struct compile_report *compile_report; /* owned; NULL: FILE is none, or of another reader */
    char why_no_list[IMPORT_REASON_BYTES]; /* why there are no ops to replay, with a report; "" =
                                            * there are */
    char settings[IMPORT_SETTINGS_BYTES];
};

/* Reads an .ops file, - being standard input; with any_format every format that `import` knows. The
 * target is opened once, so that what it refuses is told now.  EXIT_KEPT, or another code after one
 * message; deinit in both cases. */
enum exit_code recording_read(const char *path, const struct arguments *arguments, bool any_format,
                              struct recording *recording);
/* The same with every format; a compiler's report of which no list can be made is EXIT_KEPT, too:
 * ->compile_report is set, ->why_no_list says why, and there are no ops and no target. */
enum exit_code recording_read_or_report(const char *path, const struct arguments *arguments,
                                        struct recording *recording);
void recording_deinit(struct recording *recording);

/* Imports a file of any format; notes are lines about what was assumed.  The same codes. */
enum exit_code recording_import(const char *path, const struct arguments *arguments,
                                struct recording *recording, struct writing *notes);

#endif
