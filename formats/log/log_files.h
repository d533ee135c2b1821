/* A directory of logs: one file for each rank, host or pod, as launchers and collectors leave them.
 */
#ifndef FORMATS_LOG_LOG_FILES_H
#define FORMATS_LOG_LOG_FILES_H

#include "formats/common/import_error.h"
#include "formats/common/text.h"
#include "formats/log/log_line.h"

#include <stddef.h>
#include <stdint.h>

enum {
    LOG_FILE_COUNT_MAX = 4096,
    LOG_FILE_DEPTH_MAX = 16, /* folders within folders */
    LOG_FILE_LEFT_OUT_BYTES = 256
};
#define LOG_FILES_BYTES_MAX ((size_t)8 << 30) /* decompressed, all together */

struct log_file {
    char *name; /* within the directory, with '/' */
    struct text text;
    char source[LOG_SOURCE_BYTES]; /* who wrote it, such as "rank 3"; printable, never empty */
    uint32_t rank;                 /* or LOG_RANK_NONE */
};
struct log_files {
    struct log_file *files; /* count of them, at least 1, in the order of their names */
    size_t count, room;
    size_t left_out_count; /* what is no log; hidden and empty files are not counted */
    char left_out[LOG_FILE_LEFT_OUT_BYTES]; /* the first of them and why, printable */
};

/* Reads each regular file below the directory once, by however many names it is there.  Files of
 * data, FIFOs and devices, links to nothing and to folders are left out; hidden names are passed
 * over.  Files that gzip or zstd packed are unpacked.
 *
 * IMPORT_OK: the caller calls log_files_deinit.  IMPORT_UNREADABLE: a folder or a file cannot be
 * read, more than LOG_FILE_COUNT_MAX files, LOG_FILES_BYTES_MAX bytes or LOG_FILE_DEPTH_MAX
 * folders.  IMPORT_INCOMPLETE: no log is in it.  *error says which, with the file's name. */
enum import_result log_files_read(const char *directory, struct log_files *files,
                                  struct import_error *error);
void log_files_deinit(struct log_files *files);

/* Sets the source and rank of each file by its name: "rank3.log", "run/attempt_0/3/stderr.log"
 * (torchrun), "slurm-123-3.out", "train-3-x7k2p.log" (a pod), "worker-3".  A number alone is a rank
 * where others differ from the name by it.  Two files that would be one rank are told apart by
 * their names, but for the output and the errors of one process.  For log_files_read and tests. */
void log_files_name(struct log_files *files);

#endif
