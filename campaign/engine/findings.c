#include "campaign/engine/findings.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/shell.h"

#include <stdlib.h>
#include <string.h>

void findings_deinit(struct findings *findings)
{
    free(findings->findings);
    *findings = (struct findings){0};
}

struct finding *findings_find(const struct findings *findings, const char *signature)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->findings[i].signature, signature) == 0) {
            return &findings->findings[i];
        }
    }
    return NULL;
}

struct finding *findings_add(struct findings *findings, const struct finding *finding)
{
    CHECK(findings_find(findings, finding->signature) == NULL);
    findings->findings = array_grown(findings->findings, findings->count, &findings->capacity,
                                     sizeof *finding);
    findings->findings[findings->count] = *finding;
    return &findings->findings[findings->count++];
}

static char *text_replay(const char *path)
{
    char *word = malloc(SHELL_WORD_BYTES(strlen(path)));
    char *text = NULL;
    CHECK(word != NULL);
    CHECK(asprintf(&text, "hbmstress replay %s", shell_word(path, word)) >= 0);
    free(word);
    return text;
}

static char *text_format(const char *format, const char *directory, const char *base)
{
    char *text = NULL;
    CHECK(asprintf(&text, format, directory, base) >= 0);
    return text;
}

struct report_known *findings_report(const struct findings *findings, const char *directory,
                                     const char *const *part_names)
{
    struct report_known *known = calloc(findings->count + 1, sizeof *known);
    CHECK(known != NULL);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->findings[i];
        known[i] = (struct report_known){.signature = finding->signature,
                                         .rule = finding->rule,
                                         .first = {part_names[finding->part], finding->trial},
                                         .seed = finding->seed,
                                         .count = finding->count,
                                         .op_count = finding->op_count,
                                         .reason = finding->reason,
                                         .message = finding->message};
        if (finding->base[0] == '\0') {
            continue;
        }
        known[i].repro = text_format("%s/repros/%s.ops", directory, finding->base);
        known[i].replay = text_replay(known[i].repro);
        if (finding->has_certificate) {
            known[i].certificate = text_format("%s/certificates/%s.json", directory, finding->base);
        }
    }
    return known;
}

void findings_free_report(struct report_known *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)known[i].repro);
        free((char *)known[i].replay);
        free((char *)known[i].certificate);
    }
    free(known);
}
