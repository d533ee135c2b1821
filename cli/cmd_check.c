/* check: gives certificates to the independent checker. */
#include "campaign/engine/output.h"
#include "checker/certificate_check.h"
#include "cli/subcommands.h"
#include "harness/base/check.h"
#include "present/json_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The limit of every other file that is read. */
#define FILE_BYTES_MAX (UINT64_C(1) << 30)

static bool fail_read(char reason[CERTIFICATE_REASON_BYTES], const char *why)
{
    snprintf(reason, CERTIFICATE_REASON_BYTES, "%s", why);
    return false;
}

static bool read_stream(FILE *stream, struct writing *text, char reason[CERTIFICATE_REASON_BYTES])
{
    static char bytes[1 << 16];
    struct stat status;
    if (fstat(fileno(stream), &status) != 0) {
        return fail_read(reason, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return fail_read(reason, "is a directory, not a file");
    }
    if (S_ISREG(status.st_mode) && (uint64_t)status.st_size > FILE_BYTES_MAX) {
        return fail_read(reason, "is larger than 1G");
    }
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, stream)) > 0;) {
        writing_append_bytes(text, bytes, got);
        if (text->length > FILE_BYTES_MAX) {
            return fail_read(reason, "is larger than 1G");
        }
    }
    return !ferror(stream) || fail_read(reason, strerror(errno));
}

static bool read_file(const char *path, struct writing *text, char reason[CERTIFICATE_REASON_BYTES])
{
    if (strcmp(path, "-") == 0) {
        return read_stream(stdin, text, reason);
    }
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        return fail_read(reason, strerror(errno));
    }
    const bool is_read = read_stream(stream, text, reason);
    fclose(stream);
    return is_read;
}

static enum certificate_result check_file(const char *path,
                                          const struct certificate_history *history,
                                          char reason[CERTIFICATE_REASON_BYTES])
{
    struct writing text;
    writing_init(&text);
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    if (read_file(path, &text, reason)) {
        result = certificate_check_with(writing_string(&text), text.length, history, reason);
    }
    writing_deinit(&text);
    return result;
}

/* The evidence that the certificates are held against. */
struct evidence_texts {
    struct writing list, observations;
    struct certificate_history *history; /* NULL: nothing is given */
};

/* EXIT_KEPT, or EXIT_USAGE after one message. */
static enum exit_code read_evidence(const struct arguments *arguments,
                                    struct evidence_texts *evidence)
{
    char reason[CERTIFICATE_REASON_BYTES];
    const char *observations = arguments->observations;
    if (arguments->list == NULL) {
        return observations == NULL
                   ? EXIT_KEPT
                   : message_fail(EXIT_USAGE, "--observations goes with a list; also give "
                                              "--list LIST");
    }
    if (!read_file(arguments->list, &evidence->list, reason)) {
        return message_fail(EXIT_USAGE, "%s: %s", arguments->list, reason);
    }
    if (observations != NULL && !read_file(observations, &evidence->observations, reason)) {
        return message_fail(EXIT_USAGE, "%s: %s", observations, reason);
    }
    const struct certificate_text list = {arguments->list, writing_string(&evidence->list),
                                          evidence->list.length};
    const struct certificate_text log = {observations, writing_string(&evidence->observations),
                                         evidence->observations.length};
    evidence->history = certificate_history_read(&list, observations == NULL ? NULL : &log, reason);
    return evidence->history != NULL ? EXIT_KEPT : message_fail(EXIT_USAGE, "%s", reason);
}

static void print_result(struct output *output, const char *path, enum certificate_result result,
                         const char *reason)
{
    static const char *const names[] = {"valid", "refuted", "unreadable"};
    CHECK(result < sizeof names / sizeof *names);
    struct writing line;
    writing_init(&line);
    if (output->is_json) {
        json_line_certificate(&line, path, names[result], reason);
    } else if (result == CERTIFICATE_UNREADABLE) {
        (void)message_fail(EXIT_USAGE, "%s: %s", path, reason);
    } else {
        writing_append_visible(&line, path);
        writing_append_format(&line, ": %s: ", names[result]);
        writing_append_visible(&line, reason);
        writing_append(&line, "\n");
    }
    output_line(output, &line);
    output_text(output, &line);
    output_flush(output);
    writing_deinit(&line);
}

static enum exit_code check_files(const struct arguments *arguments,
                                  const struct certificate_history *history)
{
    static const enum exit_code codes[] = {EXIT_KEPT, EXIT_BROKEN, EXIT_USAGE};
    enum exit_code code = EXIT_KEPT;
    struct output output;
    output_init(&output, arguments->run.is_json);
    for (size_t i = 0; i < arguments->word_count && !output.is_failed; i++) {
        char reason[CERTIFICATE_REASON_BYTES];
        const enum certificate_result result = check_file(arguments->words[i], history, reason);
        print_result(&output, arguments->words[i], result, reason);
        code = codes[result] > code ? codes[result] : code;
    }
    return output.is_failed ? EXIT_HARNESS : code;
}

static enum exit_code check_subcommand(const struct arguments *arguments)
{
    struct evidence_texts evidence = {0};
    writing_init(&evidence.list);
    writing_init(&evidence.observations);
    enum exit_code code = read_evidence(arguments, &evidence);
    code = code == EXIT_KEPT ? check_files(arguments, evidence.history) : code;
    certificate_history_destroy(evidence.history);
    writing_deinit(&evidence.list);
    writing_deinit(&evidence.observations);
    return code;
}

const struct subcommand subcommand_check = {
    .name = "check",
    .summary = "verify the proof in a certificate",
    .usage = "FILE... [options]",
    .description =
        "FILE is a certificate of an out-of-memory, as run and replay --certificates write them; - is\n"
        "standard input.  The checker shares no code with the judges whose verdicts it checks.\n"
        "With --list, each FILE must be about an out-of-memory of that op list, as replay --certificates\n"
        "and run write it; with the log of observations that replay --certificates writes beside it, the\n"
        "checker makes the facts of each FILE again and compares them.",
    .exits = {[EXIT_KEPT] = "every proof holds",
              [EXIT_BROKEN] = "a proof does not hold, or is of another list",
              [EXIT_USAGE] = "bad usage, or a file is not what it should be",
              [EXIT_HARNESS] = "hbmstress itself failed"},
    .examples =
        {"hbmstress check out/certificates/*.json",
         "hbmstress check --list proofs/list.ops \\\n    --observations proofs/observations.jsonl proofs/op-*.json"},
    .options = "--list --observations --json",
    .word_count_min = 1,
    .word_count_max = SIZE_MAX,
    .word_name = "FILE",
    .run = check_subcommand,
};
