#include "harness/op/ops_file.h"

#include "harness/base/check.h"
#include "harness/base/size.h"
#include "harness/base/whole_file.h"
#include "harness/op/rounding.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

/* --- printing --- */

static void print_reported(FILE *stream, const struct setup_reported *reported)
{
    fprintf(stream, "reported requested=%" PRIu64 "-%" PRIu64 " free=%" PRIu64 "-%" PRIu64,
            reported->requested_low, reported->requested_high, reported->free_low,
            reported->free_high);
    if (reported->image_least > 0) {
        fprintf(stream, " image=%" PRIu64, reported->image_least);
    }
    fprintf(stream, "\n");
}

static void print_members(FILE *stream, uint64_t members)
{
    const char *between = "";
    for (unsigned i = 0; i < OP_HOST_COUNT_MAX; i++) {
        unsigned last = i;
        while (last + 1 < OP_HOST_COUNT_MAX && (members >> i & 1) != 0 &&
               (members >> (last + 1) & 1) != 0) {
            last++;
        }
        if ((members >> i & 1) != 0) {
            fprintf(stream, last == i ? "%s%u" : "%s%u-%u", between, i, last);
            between = ",";
            i = last;
        }
    }
}

/* The hosts' time, their groups, and the device that they share. */
static void print_hosts(FILE *stream, const struct setup *setup)
{
    char duration[SIZE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    fprintf(stream, "%s", setup->has_clocks ? "clocks own\n" : "");
    for (uint32_t i = 0; i < setup->host_count && setup->has_clocks; i++) {
        const struct setup_clock *clock = &setup->clocks[i];
        if (clock->ahead_ns != 0 || clock->drift != 0) {
            duration_print(clock->ahead_ns, duration);
            fprintf(stream, "clock %" PRIu32 " ahead=%s drift=%" PRId32 "\n", i, duration,
                    clock->drift);
        }
    }
    if (setup->collective_bound_ns != 0) {
        duration_print(setup->collective_bound_ns, duration);
        fprintf(stream, "collective_bound %s\n", duration);
    }
    for (uint32_t i = 0; i < setup->group_count; i++) {
        fprintf(stream, "group %u ", (unsigned)setup->groups[i].number);
        print_members(stream, setup->groups[i].members);
        fprintf(stream, " \"%s\"\n", setup->groups[i].name);
    }
    if (setup->shared_hosts != 0) {
        fprintf(stream, "shares ");
        print_members(stream, setup->shared_hosts);
        size_print(setup->shared_bytes, size);
        fprintf(stream, setup->shared_bytes == 0 ? "\n" : " %s\n", size);
    }
}

void ops_file_print_head(FILE *stream, const struct setup *setup)
{
    char size[SIZE_TEXT_BYTES];
    fprintf(stream, "hbmstress-ops 1\n");
    if (setup->scenario[0] != '\0') {
        fprintf(stream, "scenario %s\n", setup->scenario);
    }
    if (setup->chip[0] != '\0') {
        fprintf(stream, "chip %s\n", setup->chip);
    }
    if (setup->system[0] != '\0') {
        fprintf(stream, "system %s\n", setup->system);
    }
    if (setup->capacity_bytes != 0) {
        size_print(setup->capacity_bytes, size);
        fprintf(stream, "capacity %s\n", size);
    }
    if (setup->granule_bytes != 0) {
        size_print(setup->granule_bytes, size);
        fprintf(stream, "granule %s\n", size);
    }
    if (setup->has_rounding) {
        char rounding[ROUNDING_TEXT_BYTES];
        rounding_print(&setup->rounding, rounding);
        fprintf(stream, "rounding %s\n", rounding);
    }
    fprintf(stream, "hosts %" PRIu32 "\n", setup->host_count);
    print_hosts(stream, setup);
    const uint32_t *at = setup->coordinate;
    fprintf(stream, "coordinate %" PRIu32 "x%" PRIu32 "x%" PRIu32 "_HBM%" PRIu32 "\n", at[0], at[1],
            at[2], at[3]);
    fprintf(stream, "target %s\n", setup->target);
    for (uint32_t i = 0; i < setup->option_count; i++) {
        fprintf(stream, "option %s=%s\n", setup->options[i].key, setup->options[i].value);
    }
    fprintf(stream, "seed %" PRIu64 "\n", setup->seed);
    if (setup->search_nodes_max != 0) {
        fprintf(stream, "search_nodes %" PRIu64 "\n", setup->search_nodes_max);
    }
    if (setup->has_regret_max) {
        fprintf(stream, "regret_max %" PRIu64 "\n", setup->regret_max);
    }
    if (setup->until_step != 0) {
        fprintf(stream, "until %" PRIu64 "\n", setup->until_step);
    }
    if (setup->checks_races) {
        fprintf(stream, "check_races yes\n");
    }
    if (setup->reported.is_there) {
        print_reported(stream, &setup->reported);
    }
    for (int i = 0; i < OP_TAG_COUNT; i++) {
        if (setup->tags[i][0] != '\0') {
            fprintf(stream, "tag %d \"%s\"\n", i, setup->tags[i]);
        }
    }
}

static void print_comments(FILE *stream, const char *comments)
{
    while (comments != NULL && *comments != '\0') {
        const size_t length = strcspn(comments, "\n");
        fputs("# ", stream);
        for (size_t i = 0; i < length; i++) {
            /* The text of a target's message may hold anything. */
            fputc((unsigned char)comments[i] < 0x20 || comments[i] == 0x7F ? ' ' : comments[i],
                  stream);
        }
        fputc('\n', stream);
        comments += length;
        comments += *comments == '\n';
    }
}

void ops_file_print(FILE *stream, const struct setup *setup, const struct op_list *list,
                    const char *comments)
{
    char text[OP_TEXT_BYTES];
    ops_file_print_head(stream, setup);
    print_comments(stream, comments);
    fputc('\n', stream);
    for (size_t i = 0; i < list->count && !ferror(stream); i++) {
        (void)fwrite(text, 1, op_print_line(i, &list->ops[i], text), stream);
    }
}

/* --- writing --- */

enum ops_file_result ops_file_write(const char *path, const struct setup *setup,
                                    const struct op_list *list, const char *comments,
                                    struct ops_file_error *error)
{
    char partial[WHOLE_FILE_PATH_BYTES];
    FILE *stream = whole_file_begin(path, partial);
    if (stream != NULL) {
        ops_file_print(stream, setup, list, comments);
        if (whole_file_end(stream, partial, path, true)) {
            return OPS_FILE_OK;
        }
    }
    *error = (struct ops_file_error){0};
    snprintf(error->reason, sizeof error->reason, "cannot write %.160s: %s", path, strerror(errno));
    return OPS_FILE_UNWRITABLE;
}

static void add_head(struct sha256_ctx *hashing, const struct setup *setup)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    CHECK(stream != NULL);
    ops_file_print_head(stream, setup);
    CHECK(fclose(stream) == 0);
    sha256_update(hashing, length, (const uint8_t *)text);
    free(text);
}

void ops_hash(const struct setup *setup, const struct op_list *list, size_t op_count,
              char hash[OPS_HASH_BYTES])
{
    CHECK(op_count <= list->count);
    struct sha256_ctx hashing;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&hashing);
    add_head(&hashing, setup);
    for (size_t i = 0; i < op_count; i++) {
        if (list->ops[i].kind != OP_SWITCH) {
            char text[OP_TEXT_BYTES];
            const size_t length = op_print_line(i, &list->ops[i], text);
            sha256_update(&hashing, length, (const uint8_t *)text);
        }
    }
    sha256_digest(&hashing, sizeof digest, digest);
    static_assert(OPS_HASH_BYTES == BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE) + 1, "with its NUL");
    base16_encode_update(hash, sizeof digest, digest);
    hash[OPS_HASH_BYTES - 1] = '\0';
}
