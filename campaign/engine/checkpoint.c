#include "campaign/engine/checkpoint.h"

#include "campaign/base/file.h"
#include "campaign/base/message.h"
#include "campaign/base/rest.h"
#include "harness/base/check.h"
#include "harness/base/whole_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* The head of every file.  The sizes tell builds apart that lay their values out in another way. */
struct file_head {
    char magic[16];
    uint64_t size_bytes; /* of the structs that follow, added up */
    uint64_t rest_bytes; /* of the file after this head */
    uint64_t crc;        /* of them */
};
static const char description_magic[16] = "hbmstress camp 1";
static const char checkpoint_magic[16] = "hbmstress mark 1";
/* The name is the same in all versions; the last character of the magic is the version. */
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

bool checkpoint_invariants_hold(const struct checkpoint *checkpoint,
                                const struct campaign_description *description)
{
    return findings_invariants_hold(&checkpoint->findings) &&
           shrink_queue_invariants_hold(&checkpoint->queue) &&
           checkpoint_check_state(checkpoint, description) == NULL;
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
static bool write_file(struct writing *bytes, const char *directory, const char *name)
{
    char path[FILE_PATH_BYTES];
    snprintf(path, sizeof path, "%.3800s/%s", directory, name);
    const bool is_written = whole_file_write(path, bytes->bytes, bytes->length, false);
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
    return write_file(&bytes, directory, "campaign");
}

bool checkpoint_stage(const struct checkpoint *checkpoint,
                      const struct campaign_description *description, const char *directory)
{
    struct writing bytes;
    writing_init(&bytes);
    checkpoint_print(checkpoint, description, &bytes);
    return write_file(&bytes, directory, CHECKPOINT_STAGED_NAME);
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

/* Checks the head of a file that was read; *rest is what follows in *bytes.  NULL, or what is
 * wrong.
 */
static const char *read_head(const char magic[16], uint64_t size_bytes, const struct writing *bytes,
                             struct rest *rest)
{
    struct file_head head;
    *rest = rest_of(bytes);
    if (!rest_take(rest, &head, sizeof head) || memcmp(head.magic, magic, MAGIC_NAME_BYTES) != 0) {
        return "no campaign wrote this file";
    }
    if (memcmp(head.magic, magic, sizeof head.magic) != 0 || head.size_bytes != size_bytes) {
        return "another build of hbmstress wrote it; use that build";
    }
    return head.rest_bytes != rest->length || head.crc != crc_of(rest->bytes, rest->length)
               ? "the file is damaged"
               : NULL;
}

/* The rest is texts, each with its NUL. */
static bool read_texts(struct rest *rest, struct writing *texts)
{
    return rest_take_text(rest, rest->length, texts) &&
           (texts->length == 0 || texts->bytes[texts->length - 1] == '\0');
}

/* An array of so many structs, or of as many as is said before it, for the caller to free.  NULL:
 * it is not whole. */
static void *read_array(struct rest *rest, uint64_t count, size_t bytes)
{
    if (count > rest->length / bytes) {
        return NULL;
    }
    void *array = calloc(count + 1, bytes);
    CHECK(array != NULL);
    (void)rest_take(rest, array, count * bytes);
    return array;
}

static void *read_counted(struct rest *rest, uint64_t *count, size_t bytes)
{
    return rest_take(rest, count, sizeof *count) && *count <= FINDING_COUNT_MAX
               ? read_array(rest, *count, bytes)
               : NULL;
}

static bool read_description(struct rest *rest, struct campaign_description *description)
{
    struct campaign_head *head = &description->head;
    uint64_t argument_count = 0;
    if (!rest_take(rest, head, sizeof *head) || head->part_count == 0 ||
        head->part_count > PART_COUNT_MAX) {
        return false;
    }
    description->parts = read_array(rest, head->part_count, sizeof *description->parts);
    for (size_t i = 0; i < rest->length; i++) {
        argument_count += rest->bytes[i] == '\0';
    }
    return description->parts != NULL && read_texts(rest, &description->arguments) &&
           argument_count == head->argument_count;
}

static bool read_findings(struct rest *rest, struct findings *findings)
{
    uint64_t count = 0;
    findings->findings = read_counted(rest, &count, sizeof *findings->findings);
    findings->count = findings->capacity = findings->findings == NULL ? 0 : count;
    return findings->findings != NULL;
}

static bool read_queue(struct rest *rest, struct shrink_queue *queue)
{
    uint64_t count = 0;
    struct shrink_entry *entries = read_counted(rest, &count, sizeof *entries);
    const bool is_read = entries != NULL;
    for (size_t i = 0; i < count && is_read; i++) {
        shrink_queue_restore(queue, &entries[i]);
    }
    free(entries);
    return is_read;
}

static bool read_checkpoint(struct rest *rest, const struct campaign_head *expected,
                            struct checkpoint *checkpoint)
{
    struct campaign_head head;
    if (!rest_take(rest, &head, sizeof head) || memcmp(&head, expected, sizeof head) != 0 ||
        !rest_take(rest, &checkpoint->state, sizeof checkpoint->state)) {
        return false;
    }
    checkpoint->parts = read_array(rest, head.part_count, sizeof *checkpoint->parts);
    checkpoint->state.end.seed_source = NULL; /* an address of the process that wrote it */
    return checkpoint->parts != NULL && read_findings(rest, &checkpoint->findings) &&
           read_queue(rest, &checkpoint->queue) && read_texts(rest, &checkpoint->saved_files);
}

/* "the file is damaged: its FIELD cannot be"; NULL: wrong is, too. */
static const char *name_damage(const char *wrong, char reason[CHECKPOINT_REASON_BYTES])
{
    snprintf(reason, CHECKPOINT_REASON_BYTES, "the file is damaged: its %s cannot be", wrong);
    return wrong == NULL ? NULL : reason;
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
    return read_description(&rest, description)
               ? name_damage(checkpoint_check_description(description), reason)
               : "the file is damaged";
}

const char *checkpoint_parse(const struct writing *bytes,
                             const struct campaign_description *description,
                             struct checkpoint *checkpoint, char reason[CHECKPOINT_REASON_BYTES])
{
    struct rest rest;
    *checkpoint = (struct checkpoint){0};
    const char *refused = read_head(checkpoint_magic, CHECKPOINT_BYTES, bytes, &rest);
    if (refused != NULL) {
        return refused;
    }
    return read_checkpoint(&rest, &description->head, checkpoint)
               ? name_damage(checkpoint_check_state(checkpoint, description), reason)
               : "the file is damaged, or belongs to another campaign";
}

/* NULL, or why not. */
static const char *read_file(const char *directory, const char *name, struct writing *bytes)
{
    const char *why;
    writing_clear(bytes);
    if (below_read(directory, name, FILE_BYTES_MAX, bytes, &why)) {
        return NULL;
    }
    return errno == ENOENT ? "there is no campaign to resume" : why;
}

enum exit_code checkpoint_load(const char *directory, struct campaign_description *description,
                               struct checkpoint *checkpoint)
{
    struct writing bytes;
    char reason[CHECKPOINT_REASON_BYTES];
    const char *name = "campaign";
    *description = (struct campaign_description){0};
    *checkpoint = (struct checkpoint){0};
    writing_init(&bytes);
    const char *refused = read_file(directory, name, &bytes);
    if (refused == NULL) {
        refused = campaign_description_parse(&bytes, description, reason);
    }
    if (refused == NULL) {
        name = "checkpoint";
        refused = read_file(directory, name, &bytes);
    }
    if (refused == NULL) {
        refused = checkpoint_parse(&bytes, description, checkpoint, reason);
    }
    writing_deinit(&bytes);
    return refused == NULL ? EXIT_KEPT
                           : message_fail(EXIT_USAGE, "%.3800s/%s: %s", directory, name, refused);
}

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
