#include "campaign/engine/checkpoint.h"

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/trials/earlier.h"
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
static const char description_magic[16] = "hbmstress camp 2";
static const char checkpoint_magic[16] = "hbmstress mark 5";
/* Of all versions; the last character says which one. */
enum { MAGIC_NAME_BYTES = sizeof checkpoint_magic - 1 };

enum {
    DESCRIPTION_BYTES = sizeof(struct campaign_head) + sizeof(struct campaign_part),
    CHECKPOINT_BYTES = sizeof(struct campaign_state) + sizeof(struct part_state) +
                       sizeof(struct finding) + sizeof(struct shrink_entry),
    PART_COUNT_MAX = 1 << 16,
    FINDING_COUNT_MAX = 1 << 20,
};
#define FILE_BYTES_MAX ((size_t)1 << 31)

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

static void close_file(struct writing *bytes)
{
    struct file_head *head = (void *)bytes->bytes;
    head->rest_bytes = bytes->length - sizeof *head;
    head->crc = crc_of(bytes->bytes + sizeof *head, bytes->length - sizeof *head);
}

static bool write_and_free(struct writing *bytes, const char *directory, const char *name,
                           bool is_forced)
{
    char path[FILE_PATH_BYTES];
    close_file(bytes);
    snprintf(path, sizeof path, "%.3800s/%s", directory, name);
    const bool is_written = whole_file_write(path, bytes->bytes, bytes->length, is_forced);
    const int reason = errno;
    writing_deinit(bytes);
    errno = reason;
    return is_written;
}

bool campaign_description_save(const struct campaign_description *description,
                               const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    begin_file(&bytes, description_magic, DESCRIPTION_BYTES);
    writing_append_bytes(&bytes, &description->head, sizeof description->head);
    writing_append_bytes(&bytes, description->parts,
                         description->head.part_count * sizeof *description->parts);
    writing_append_bytes(&bytes, description->arguments.bytes, description->arguments.length);
    return write_and_free(&bytes, directory, "campaign", false);
}

static void append_checkpoint(const struct checkpoint *checkpoint,
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
}

bool checkpoint_save(const struct checkpoint *checkpoint,
                     const struct campaign_description *description, const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    append_checkpoint(checkpoint, description, &bytes);
    return write_and_free(&bytes, directory, "checkpoint", true);
}

bool checkpoint_stage(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    append_checkpoint(checkpoint, description, &bytes);
    return write_and_free(&bytes, directory, CHECKPOINT_STAGED_NAME, false);
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

static enum exit_code refuse_file(const char *path, const char *reason)
{
    return message_fail(EXIT_USAGE, "%.3800s: %s", path, reason);
}

/* Reads a file and checks its head; *rest is what follows in *bytes. */
static enum exit_code open_file(const char *path, const char magic[16], uint64_t size_bytes,
                                struct writing *bytes, struct rest *rest)
{
    struct file_head head;
    if (!file_read(path, FILE_BYTES_MAX, bytes)) {
        return refuse_file(path,
                           errno == ENOENT ? "there is no campaign to resume" : strerror(errno));
    }
    *rest = (struct rest){bytes->bytes, bytes->length};
    if (!read_value(rest, &head, sizeof head) || memcmp(head.magic, magic, MAGIC_NAME_BYTES) != 0) {
        return refuse_file(path, "no campaign wrote this file");
    }
    if (memcmp(head.magic, magic, sizeof head.magic) != 0 || head.size_bytes != size_bytes) {
        return refuse_file(path, "another build of hbmstress wrote it; use that build");
    }
    if (head.rest_bytes != rest->length || head.crc != crc_of(rest->bytes, rest->length)) {
        return refuse_file(path, "the file is damaged");
    }
    return EXIT_KEPT;
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
        head->part_count > PART_COUNT_MAX || head->shard_count == 0 ||
        head->shard_index >= head->shard_count) {
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

static bool read_queue(struct rest *rest, const struct campaign_head *head,
                       struct shrink_queue *queue)
{
    uint64_t count = 0;
    if (!read_value(rest, &count, sizeof count) || count > FINDING_COUNT_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct shrink_entry entry;
        if (!read_value(rest, &entry, sizeof entry) || entry.task.part >= head->part_count) {
            return false;
        }
        shrink_queue_restore(queue, &entry);
    }
    return true;
}

static bool read_checkpoint(struct rest *rest, const struct campaign_head *expected,
                            struct checkpoint *checkpoint)
{
    struct campaign_head head;
    uint64_t finding_count = 0;
    if (!read_value(rest, &head, sizeof head) || memcmp(&head, expected, sizeof head) != 0 ||
        !read_value(rest, &checkpoint->state, sizeof checkpoint->state) ||
        checkpoint->state.mark.part >= head.part_count) {
        return false;
    }
    checkpoint->parts = calloc(head.part_count, sizeof *checkpoint->parts);
    CHECK(checkpoint->parts != NULL);
    if (!read_value(rest, checkpoint->parts, head.part_count * sizeof *checkpoint->parts) ||
        !read_value(rest, &finding_count, sizeof finding_count) ||
        finding_count > FINDING_COUNT_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < finding_count; i++) {
        struct finding finding;
        if (!read_value(rest, &finding, sizeof finding) || finding.part >= head.part_count ||
            finding.before_count > EARLIER_LIST_COUNT_MAX) {
            return false;
        }
        findings_add(&checkpoint->findings, &finding);
    }
    return read_queue(rest, &head, &checkpoint->queue) &&
           read_texts(rest, &checkpoint->saved_files);
}

enum exit_code checkpoint_load(const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint)
{
    char path[FILE_PATH_BYTES];
    struct rest rest;
    struct writing bytes;
    *description = (struct campaign_description){0};
    *checkpoint = (struct checkpoint){0};
    writing_init(&bytes);
    snprintf(path, sizeof path, "%.3800s/campaign", directory);
    enum exit_code code = open_file(path, description_magic, DESCRIPTION_BYTES, &bytes, &rest);
    if (code == EXIT_KEPT && !read_description(&rest, description)) {
        code = refuse_file(path, "the file is damaged");
    }
    writing_clear(&bytes);
    snprintf(path, sizeof path, "%.3800s/checkpoint", directory);
    if (code == EXIT_KEPT) {
        code = open_file(path, checkpoint_magic, CHECKPOINT_BYTES, &bytes, &rest);
    }
    if (code == EXIT_KEPT && !read_checkpoint(&rest, &description->head, checkpoint)) {
        code = refuse_file(path, "the file is damaged, or belongs to another campaign");
    }
    writing_deinit(&bytes);
    return code;
}
