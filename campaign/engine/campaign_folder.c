#include "campaign/engine/campaign_folder.h"

#include "campaign/base/below.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = FINDING_BASE_BYTES + 32 };

static enum exit_code walk_finding(const struct finding *finding,
                                   const struct campaign_folder_visitor *visitor)
{
    char name[NAME_BYTES];
    if (finding->base[0] == '\0') {
        return EXIT_KEPT;
    }
    snprintf(name, sizeof name, "repros/%s.ops", finding->base);
    enum exit_code code = visitor->visit(visitor->context, name, finding);
    for (uint64_t i = 1; i <= finding->before_count && code == EXIT_KEPT; i++) {
        snprintf(name, sizeof name, "repros/%s.before-%" PRIu64 ".ops", finding->base, i);
        code = visitor->visit(visitor->context, name, finding);
    }
    if (code != EXIT_KEPT || !finding->has_certificate) {
        return code;
    }
    snprintf(name, sizeof name, "certificates/%s.json", finding->base);
    return visitor->visit(visitor->context, name, finding);
}

enum exit_code campaign_folder_walk(const struct checkpoint *at,
                                    const struct campaign_folder_visitor *visitor)
{
    const struct writing *kept = &at->saved_files;
    enum exit_code code = EXIT_KEPT;
    for (size_t i = 0; i < at->findings.count && code == EXIT_KEPT; i++) {
        code = walk_finding(&at->findings.findings[i], visitor);
    }
    for (size_t i = 0; i < kept->length && code == EXIT_KEPT; i += strlen(kept->bytes + i) + 1) {
        code = visitor->visit(visitor->context, kept->bytes + i, NULL);
    }
    return code;
}

static enum exit_code refuse(const char *directory, const char *name, const char *why)
{
    return message_fail(EXIT_USAGE, "%.3800s/%s: %s", directory, name, why);
}

/* Checks that a file is no link or the like.  A file that was removed since stays removed. */
static enum exit_code check_file(void *context, const char *name, const struct finding *finding)
{
    const char *directory = context, *why;
    const int file = below_open(directory, name, &why);
    (void)finding;
    if (file < 0) {
        return errno == ENOENT ? EXIT_KEPT : refuse(directory, name, why);
    }
    (void)close(file);
    return EXIT_KEPT;
}

static enum exit_code check_results(const char *directory, uint64_t results_bytes)
{
    struct stat status;
    const char *why;
    const int file = below_open(directory, "results.jsonl", &why);
    if (file < 0) {
        return refuse(directory, "results.jsonl", why);
    }
    const bool is_long = fstat(file, &status) == 0 && (uint64_t)status.st_size >= results_bytes;
    (void)close(file);
    return is_long ? EXIT_KEPT
                   : refuse(directory, "results.jsonl",
                            "the file is shorter than its checkpoint records");
}

enum exit_code campaign_folder_check(const char *directory, const struct checkpoint *at)
{
    const char *why;
    for (size_t i = 0; checkpoint_folders[i] != NULL; i++) {
        if (!below_is_folder(directory, checkpoint_folders[i], &why)) {
            return refuse(directory, checkpoint_folders[i], why);
        }
    }
    const struct campaign_folder_visitor visitor = {check_file, (void *)directory};
    const enum exit_code code = campaign_folder_walk(at, &visitor);
    return code == EXIT_KEPT ? check_results(directory, at->state.results_bytes) : code;
}
