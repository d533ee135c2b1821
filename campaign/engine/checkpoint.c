#include "campaign/engine/checkpoint.h"

#include "campaign/base/below.h"
#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/engine/checkpoint_check.h"
#include "harness/base/check.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* Every file begins so; the sizes tell builds apart that lay their values out in another way. */
struct file_head {
    char magic[16];
    uint64_t size_bytes; /* of the structs that follow, added up */
    uint64_t rest_bytes; /* of the file after this head */
    uint64_t crc;        /* of them */
};
static const char description_magic[16] = "hbmstress camp 1";
static const char checkpoint_magic[16] = "hbmstress mark 1";
/* Of all versions; the last character says which one. */
enum { MAGIC_NAME_BYTES = sizeof checkpoint_magic - 1 };

enum {
    DESCRIPTION_BYTES = sizeof(struct campaign_head) + sizeof(struct campaign_part),
    CHECKPOINT_BYTES = sizeof(struct campaign_state) + sizeof(struct part_state) +
                       sizeof(struct finding) + sizeof(struct shrink_entry),
    PART_COUNT_MAX = 1 << 16,
    FINDING_COUNT_MAX = 1 << 16,
};
#define FILE_BYTES_MAX ((size_t)1 << 28)

void campaign_description_deinit(struct campaign_description *description)
{
    free(description->parts);
    writing_deinit(&description->arguments);
    *description = (struct campaign_description){0};
}

void checkpoint_deinit(struct checkpoint *checkpoint)
{
    free(checkpoint->parts);
    findings_deinit(&checkpoint->findings);
    shrink_queue_deinit(&checkpoint->queue);
    writing_deinit(&checkpoint->saved_files);
    *checkpoint = (struct checkpoint){0};
}

/* --- writing --- */

static uint64_t crc_of(const void *bytes, size_t length)
{
    return (uint64_t)crc32_z(0, bytes, length);
}

static void begin_file(struct writing *bytes, const char magic[16], uint64_t size_bytes)
{
    struct file_head head = {.size_bytes = size_bytes};
    memcpy(head.magic, magic, sizeof head.magic);
    writing_append_bytes(bytes, &head, sizeof head);
}

void checkpoint_seal(struct writing *bytes)
{
    struct file_head *head = (void *)bytes->bytes;
    CHECK(bytes->length >= sizeof *head);
    head->rest_bytes = bytes->length - sizeof *head;
    head->crc = crc_of(bytes->bytes + sizeof *head, bytes->length - sizeof *head);
}

/* Takes over bytes. */
static bool write_file(struct writing *bytes, const char *directory, const char *name,
                       bool is_forced)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", directory, name);
    const bool is_written = whole_file_write(path, bytes->bytes, bytes->length, is_forced);
    const int reason = errno;
    writing_deinit(bytes);
    errno = reason;
    return is_written;
}

void campaign_description_print(const struct campaign_description *description,
                                struct writing *bytes)
{
    begin_file(bytes, description_magic, DESCRIPTION_BYTES);
    writing_append_bytes(bytes, &description->head, sizeof description->head);
    writing_append_bytes(bytes, description->parts,
                         description->head.part_count * sizeof *description->parts);
    writing_append_bytes(bytes, description->arguments.bytes, description->arguments.length);
    checkpoint_seal(bytes);
}

void checkpoint_print(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, struct writing *bytes)
{
    const uint64_t finding_count = checkpoint->findings.count;
    const uint64_t entry_count = checkpoint->queue.count;
    begin_file(bytes, checkpoint_magic, CHECKPOINT_BYTES);
    writing_append_bytes(bytes, &description->head,
                         sizeof description->head); /* the two files belong together */
    writing_append_bytes(bytes, &checkpoint->state, sizeof checkpoint->state);
    writing_append_bytes(bytes, checkpoint->parts,
                         description->head.part_count * sizeof *checkpoint->parts);
    writing_append_bytes(bytes, &finding_count, sizeof finding_count);
    writing_append_bytes(bytes, checkpoint->findings.findings,
                         finding_count * sizeof *checkpoint->findings.findings);
    writing_append_bytes(bytes, &entry_count, sizeof entry_count);
    writing_append_bytes(bytes, checkpoint->queue.entries,
                         entry_count * sizeof *checkpoint->queue.entries);
    writing_append_bytes(bytes, checkpoint->saved_files.bytes, checkpoint->saved_files.length);
    checkpoint_seal(bytes);
}

bool campaign_description_save(const struct campaign_description *description,
                               const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    campaign_description_print(description, &bytes);
    return write_file(&bytes, directory, "campaign", false);
}

bool checkpoint_save(const struct checkpoint *checkpoint,
                     const struct campaign_description *description, const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    checkpoint_print(checkpoint, description, &bytes);
    return write_file(&bytes, directory, "checkpoint", true);
}

bool checkpoint_stage(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    checkpoint_print(checkpoint, description, &bytes);
    return write_file(&bytes, directory, CHECKPOINT_STAGED_NAME, false);
}

bool checkpoint_commit(const char *directory)
{
    char from[FILE_PATH_BYTES], to[FILE_PATH_BYTES];
    snprintf(from, sizeof from, "%.3800s/" CHECKPOINT_STAGED_NAME, directory);
    snprintf(to, sizeof to, "%.3800s/checkpoint", directory);
    return rename(from, to) == 0;
}

void checkpoint_unstage(const char *directory)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/" CHECKPOINT_STAGED_NAME, directory);
    (void)unlink(path);
}

void checkpoint_forget(const char *directory)
{
    static const char *const names[] = {"checkpoint", "campaign"};
    char path[FILE_PATH_BYTES];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%.3800s/%s", directory, names[i]);
        (void)unlink(path);
    }
}

/* --- reading --- */

/* What is left of a file that was read. */
struct rest {
    const char *bytes;
    size_t length;
};

static bool read_value(struct rest *rest, void *to, size_t length)
{
    if (rest->length < length) {
        return false;
    }
    if (length > 0) {
        memcpy(to, rest->bytes, length);
    }
    rest->bytes += length;
    rest->length -= length;
    return true;
}

/* Checks the head of a file that was read; *rest is what follows in *bytes.  NULL, or what is
 * wrong.
 */
static const char *read_head(const char magic[16], uint64_t size_bytes, const struct writing *bytes,
                             struct rest *rest)
{
    struct file_head head;
    *rest = (struct rest){bytes->bytes, bytes->length};
    if (!read_value(rest, &head, sizeof head) || memcmp(head.magic, magic, MAGIC_NAME_BYTES) != 0) {
        return "no campaign wrote this file";
    }
    if (memcmp(head.magic, magic, sizeof head.magic) != 0 || head.size_bytes != size_bytes) {
        return "another build of hbmstress wrote it; use that build";
    }
    if (head.rest_bytes != rest->length || head.crc != crc_of(rest->bytes, rest->length)) {
        return "the file is damaged";
    }
    return NULL;
}

/* The rest is texts, each with its NUL. */
static bool read_texts(const struct rest *rest, struct writing *texts)
{
    writing_append_bytes(texts, rest->bytes, rest->length);
    return rest->length == 0 || rest->bytes[rest->length - 1] == '\0';
}

static bool read_description(struct rest *rest, struct campaign_description *description)
{
    struct campaign_head *head = &description->head;
    if (!read_value(rest, head, sizeof *head) || head->part_count == 0 ||
        head->part_count > PART_COUNT_MAX ||
        rest->length < head->part_count * sizeof *description->parts) {
        return false;
    }
    description->parts = calloc(head->part_count, sizeof *description->parts);
    CHECK(description->parts != NULL);
    if (!read_value(rest, description->parts, head->part_count * sizeof *description->parts)) {
        return false;
    }
    uint64_t argument_count = 0;
    for (size_t i = 0; i < rest->length; i++) {
        argument_count += rest->bytes[i] == '\0';
    }
    return read_texts(rest, &description->arguments) && argument_count == head->argument_count;
}

/* False: they end too early, or *wrong is the field of one that cannot be. */
static bool read_findings(struct rest *rest, uint64_t part_count, struct findings *findings,
                          const char **wrong)
{
    uint64_t finding_count = 0;
    if (!read_value(rest, &finding_count, sizeof finding_count) ||
        finding_count > FINDING_COUNT_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < finding_count; i++) {
        struct finding finding;
        if (!read_value(rest, &finding, sizeof finding)) {
            return false;
        }
        *wrong = checkpoint_check_finding(&finding, part_count);
        if (*wrong == NULL && findings_find(findings, finding.signature) != NULL) {
            *wrong = "signature";
        }
        if (*wrong != NULL) {
            return false;
        }
        (void)findings_add(findings, &finding);
    }
    *wrong = checkpoint_check_moves(findings);
    return *wrong == NULL;
}

/* As read_findings. */
static bool read_queue(struct rest *rest, uint64_t part_count, const struct findings *findings,
                       struct shrink_queue *queue, const char **wrong)
{
    uint64_t entry_count = 0;
    if (!read_value(rest, &entry_count, sizeof entry_count) || entry_count > FINDING_COUNT_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < entry_count; i++) {
        struct shrink_entry entry;
        if (!read_value(rest, &entry, sizeof entry)) {
            return false;
        }
        *wrong = checkpoint_check_entry(&entry, findings, part_count);
        if (*wrong != NULL) {
            return false;
        }
        shrink_queue_restore(queue, &entry);
    }
    return true;
}

static bool read_checkpoint(struct rest *rest, const struct campaign_head *expected,
                            struct checkpoint *checkpoint, const char **wrong)
{
    struct campaign_head head;
    if (!read_value(rest, &head, sizeof head) || memcmp(&head, expected, sizeof head) != 0 ||
        !read_value(rest, &checkpoint->state, sizeof checkpoint->state) ||
        rest->length < head.part_count * sizeof *checkpoint->parts) {
        return false;
    }
    checkpoint->state.end.seed_source = NULL; /* an address of the process that wrote it */
    checkpoint->parts = calloc(head.part_count, sizeof *checkpoint->parts);
    CHECK(checkpoint->parts != NULL);
    return read_value(rest, checkpoint->parts, head.part_count * sizeof *checkpoint->parts) &&
           read_findings(rest, head.part_count - head.has_canary, &checkpoint->findings, wrong) &&
           read_queue(rest, head.part_count - head.has_canary, &checkpoint->findings,
                      &checkpoint->queue, wrong) &&
           read_texts(rest, &checkpoint->saved_files);
}

/* "the file is damaged: its FIELD cannot be". */
static const char *name_damage(const char *wrong, char reason[CHECKPOINT_REASON_BYTES])
{
    snprintf(reason, CHECKPOINT_REASON_BYTES, "the file is damaged: its %s cannot be", wrong);
    return reason;
}

const char *campaign_description_parse(const struct writing *bytes,
                                       struct campaign_description *description,
                                       char reason[CHECKPOINT_REASON_BYTES])
{
    struct rest rest;
    *description = (struct campaign_description){0};
    const char *refused = read_head(description_magic, DESCRIPTION_BYTES, bytes, &rest);
    if (refused != NULL) {
        return refused;
    }
    if (!read_description(&rest, description)) {
        return "the file is damaged";
    }
    const char *wrong = checkpoint_check_description(description);
    return wrong == NULL ? NULL : name_damage(wrong, reason);
}

const char *checkpoint_parse(const struct writing *bytes,
                             const struct campaign_description *description,
                             struct checkpoint *checkpoint, char reason[CHECKPOINT_REASON_BYTES])
{
    struct rest rest;
    const char *wrong = NULL;
    *checkpoint = (struct checkpoint){0};
    const char *refused = read_head(checkpoint_magic, CHECKPOINT_BYTES, bytes, &rest);
    if (refused != NULL) {
        return refused;
    }
    if (!read_checkpoint(&rest, &description->head, checkpoint, &wrong)) {
        return wrong != NULL ? name_damage(wrong, reason)
                             : "the file is damaged, or belongs to another campaign";
    }
    wrong = checkpoint_check_state(checkpoint, description);
    return wrong == NULL ? NULL : name_damage(wrong, reason);
}

static enum exit_code refuse_file(const char *directory, const char *name, const char *reason)
{
    return message_fail(EXIT_USAGE, "%.3800s/%s: %s", directory, name, reason);
}

static enum exit_code read_file(const char *directory, const char *name, struct writing *bytes)
{
    const char *why;
    if (below_read(directory, name, FILE_BYTES_MAX, bytes, &why)) {
        return EXIT_KEPT;
    }
    return refuse_file(directory, name, errno == ENOENT ? "there is no campaign to resume" : why);
}

enum exit_code checkpoint_load(const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint)
{
    struct writing bytes;
    char reason[CHECKPOINT_REASON_BYTES];
    const char *refused = NULL, *name = "campaign";
    *description = (struct campaign_description){0};
    *checkpoint = (struct checkpoint){0};
    writing_init(&bytes);
    enum exit_code code = read_file(directory, name, &bytes);
    if (code == EXIT_KEPT) {
        refused = campaign_description_parse(&bytes, description, reason);
    }
    writing_clear(&bytes);
    if (code == EXIT_KEPT && refused == NULL) {
        name = "checkpoint";
        code = read_file(directory, name, &bytes);
    }
    if (code == EXIT_KEPT && refused == NULL) {
        refused = checkpoint_parse(&bytes, description, checkpoint, reason);
    }
    writing_deinit(&bytes);
    return refused == NULL ? code : refuse_file(directory, name, refused);
}
