/* hbm-certificate-check FILE...: says whether the proofs in certificates hold. */
#include "checker/certificate_check.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 30 };

static const char usage[] =
    "usage: hbm-certificate-check [--list LIST [--observations LOG]] FILE...\n"
    "Checks the proofs in certificates of hbmstress, without code of hbmstress.\n"
    "  FILE                a certificate (- reads standard input; at most 1 GiB)\n"
    "  --list LIST         the certificates must be of out-of-memories of this op list\n"
    "  --observations LOG  and all their facts must follow from it and this log\n"
    "Exit codes: 0 all proofs hold, 1 one does not, 2 bad usage or not a certificate, list or log\n";

struct options {
    const char *list, *observations;
    char **files;
    int file_count;
};

static bool read_options(int argument_count, char **arguments, struct options *options)
{
    int i = 1;
    for (; i < argument_count && strncmp(arguments[i], "--", 2) == 0; i += 2) {
        const char **value = strcmp(arguments[i], "--list") == 0           ? &options->list
                             : strcmp(arguments[i], "--observations") == 0 ? &options->observations
                                                                           : NULL;
        if (value == NULL || *value != NULL || i + 1 == argument_count) {
            return false;
        }
        *value = arguments[i + 1];
    }
    options->files = arguments + i;
    options->file_count = argument_count - i;
    return options->file_count > 0 && (options->observations == NULL || options->list != NULL);
}

/* Reads all of the file into bytes, which grow and belong to the caller.  False: a message is
 * printed. */
static bool read_file(const char *name, struct certificate_text *text, char **bytes)
{
    size_t capacity = 1 << 15, length = 0;
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    bool is_good = file != NULL;
    while (is_good && !feof(file)) {
        capacity *= 2;
        /* The byte behind them tells a file that ends there. */
        char *grown = realloc(*bytes, capacity + 1);
        if (grown != NULL) {
            *bytes = grown;
            length += fread(grown + length, 1, capacity + 1 - length, file);
        }
        is_good = grown != NULL && ferror(file) == 0 && length <= FILE_BYTES_MAX;
    }
    if (file != NULL && file != stdin) {
        (void)fclose(file);
    }
    if (!is_good) {
        fprintf(stderr, "%s: cannot be read, or is larger than 1 GiB\n", name);
    }
    *text = (struct certificate_text){.name = name, .bytes = *bytes, .length = length};
    return is_good;
}

/* Prints what was found, and returns it. */
static enum certificate_result check_file(const char *name, bool is_one_of_several,
                                          const struct certificate_history *history)
{
    static const char *const words[] = {"valid", "refuted", "unreadable"};
    char reason[CERTIFICATE_REASON_BYTES];
    struct certificate_text text;
    char *bytes = NULL;
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    if (read_file(name, &text, &bytes)) {
        result = certificate_check_with(text.bytes, text.length, history, reason);
        FILE *stream = result == CERTIFICATE_UNREADABLE ? stderr : stdout;
        const int printed = fprintf(stream, "%s%s%s: %s\n", is_one_of_several ? name : "",
                                    is_one_of_several ? ": " : "", words[result], reason);
        result = printed < 0 || fflush(stdout) != 0 ? CERTIFICATE_UNREADABLE : result;
    }
    free(bytes);
    return result;
}

static enum certificate_result check_files(const struct options *options,
                                           const struct certificate_history *history)
{
    enum certificate_result worst = CERTIFICATE_VALID;
    for (int i = 0; i < options->file_count; i++) {
        const enum certificate_result result = check_file(options->files[i],
                                                          options->file_count > 1, history);
        worst = result > worst ? result : worst;
    }
    return worst;
}

static enum certificate_result check_with_history(const struct options *options)
{
    char reason[CERTIFICATE_REASON_BYTES], *list_bytes = NULL, *log_bytes = NULL;
    struct certificate_text list, log;
    enum certificate_result result = CERTIFICATE_UNREADABLE;
    const bool has_log = options->observations != NULL;
    if (read_file(options->list, &list, &list_bytes) &&
        (!has_log || read_file(options->observations, &log, &log_bytes))) {
        struct certificate_history *history = certificate_history_read(&list, has_log ? &log : NULL,
                                                                       reason);
        if (history == NULL) {
            fprintf(stderr, "%s\n", reason);
        } else {
            result = check_files(options, history);
        }
        certificate_history_destroy(history);
    }
    free(list_bytes);
    free(log_bytes);
    return result;
}

int main(int argument_count, char **arguments)
{
    struct options options = {0};
    const bool asks_help = argument_count == 2 && strcmp(arguments[1], "--help") == 0;
    if (asks_help || !read_options(argument_count, arguments, &options)) {
        fputs(usage, asks_help ? stdout : stderr);
        return asks_help ? EXIT_SUCCESS : CERTIFICATE_UNREADABLE;
    }
    const enum certificate_result worst = options.list == NULL ? check_files(&options, NULL)
                                                               : check_with_history(&options);
    return (int)worst;
}
