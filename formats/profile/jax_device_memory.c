/* Imports the file of jax.profiler.save_device_memory_profile: a pprof profile of the buffers and
 * executables that were live at one moment, by the Python stack that made them.  It has sums
 * without addresses: each sample becomes as many blocks of the same size. */
#include "formats/profile/private/jax_device_memory.h"
#include "formats/common/import.h"
#include "harness/base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_COUNT_MAX = 1 << 22, FILE_BYTES_EXAMINED = 4096, TAG_TEXT_BYTES = 512 };

/* --- whose code it was --- */

static bool has_word(const struct protobuf *text, const char *word)
{
    const size_t length = text->end - text->offset;
    const size_t examined = length < FILE_BYTES_EXAMINED ? length : FILE_BYTES_EXAMINED;
    return memmem(text->text + text->end - examined, examined, word, strlen(word)) != NULL;
}

/* Not of a package that was installed, of Python itself, or made while running ("<string>"). */
static bool is_user_file(const struct protobuf *file)
{
    return file->end > file->offset && file->text[file->offset] != '<' &&
           !has_word(file, "site-packages") && !has_word(file, "dist-packages") &&
           !has_word(file, "/lib/python");
}

/* "function file.py:12", without the folders; the function alone where it has no file.  Returns the
 * length. */
static size_t print_frame(const struct pprof_frame *frame, char text[TAG_TEXT_BYTES])
{
    size_t start = frame->file.end;
    const size_t lowest = frame->file.end - frame->file.offset < 128 ? frame->file.offset
                                                                     : frame->file.end - 128;
    while (start > lowest && frame->file.text[start - 1] != '/' &&
           frame->file.text[start - 1] != '\\') {
        start--;
    }
    const size_t function_length = frame->function.end - frame->function.offset;
    if (frame->file.offset == frame->file.end) {
        const size_t length = function_length < TAG_TEXT_BYTES ? function_length : TAG_TEXT_BYTES;
        memcpy(text, frame->function.text + frame->function.offset, length);
        return length;
    }
    return (size_t)snprintf(text, TAG_TEXT_BYTES, "%.*s %.*s:%" PRIu64,
                            (int)(function_length < 256 ? function_length : 256),
                            frame->function.text + frame->function.offset,
                            (int)(frame->file.end - start), frame->file.text + start, frame->line);
}

static enum import_result resolve_location(struct snapshot *snapshot, size_t location)
{
    struct jax_place *place = &snapshot->places[location];
    struct protobuf reader = pprof_location(&snapshot->profile, location);
    struct pprof_frame frame;
    char text[TAG_TEXT_BYTES];
    *place = (struct jax_place){.is_known = true, .tag = JAX_NO_TAG};
    while (!place->is_user) {
        bool is_end = false;
        const enum import_result result = pprof_frame_next(&snapshot->profile, &reader, &frame,
                                                           &is_end, snapshot->error);
        if (result != IMPORT_OK || is_end) {
            return result;
        }
        place->is_user = is_user_file(&frame.file);
        if (place->tag == JAX_NO_TAG || place->is_user) {
            const size_t length = print_frame(&frame, text);
            place->tag = name_table_add(&snapshot->tags, text, length);
        }
    }
    return IMPORT_OK;
}

/* A stack is walked to the user's frame that is innermost. */
struct location_walk {
    struct snapshot *snapshot;
    uint32_t tag;
};

static enum import_result visit_location(void *context, size_t location, bool *is_over)
{
    struct location_walk *walk = context;
    const struct jax_place *place = &walk->snapshot->places[location];
    if (!place->is_known) {
        IMPORT_TRY(resolve_location(walk->snapshot, location));
    }
    if (walk->tag == JAX_NO_TAG || place->is_user) {
        walk->tag = place->tag;
    }
    *is_over = place->is_user;
    return IMPORT_OK;
}

/* --- stacks --- */

/* The frames of a location, one more than a stack can have at most. */
static enum import_result number_frames(struct snapshot *snapshot, size_t location,
                                        struct import_error *error)
{
    struct jax_place *place = &snapshot->places[location];
    struct protobuf reader = pprof_location(&snapshot->profile, location);
    struct pprof_frame frame;
    char text[TAG_TEXT_BYTES];
    place->has_frames = true;
    place->first_frame = snapshot->frame_count;
    while (place->frame_count <= STACKS_DEPTH_MAX) {
        bool is_end = false;
        const enum import_result result = pprof_frame_next(&snapshot->profile, &reader, &frame,
                                                           &is_end, error);
        place->is_broken = result != IMPORT_OK;
        if (result != IMPORT_OK || is_end) {
            return result;
        }
        const size_t length = print_frame(&frame, text);
        ARRAY_ADD(snapshot->frames, snapshot->frame_count,
                  snapshot->frame_room) = stacks_frame(snapshot->stacks, text, length);
        place->frame_count++;
    }
    return IMPORT_OK;
}

struct stack_walk {
    struct snapshot *snapshot;
    struct import_error *error;
    uint32_t frames[STACKS_DEPTH_MAX];
    size_t count;
    bool has_more;
};

static enum import_result visit_frames(void *context, size_t location, bool *is_over)
{
    struct stack_walk *walk = context;
    const struct jax_place *place = &walk->snapshot->places[location];
    if (!place->has_frames) {
        (void)number_frames(walk->snapshot, location, walk->error);
    }
    if (place->is_broken) {
        return IMPORT_INVALID;
    }
    for (uint32_t i = 0; i < place->frame_count && !walk->has_more; i++) {
        walk->has_more = walk->count == STACKS_DEPTH_MAX;
        if (!walk->has_more) {
            walk->frames[walk->count++] = walk->snapshot->frames[place->first_frame + i];
        }
    }
    *is_over = walk->has_more;
    return IMPORT_OK;
}

/* Finds the stack of a sample.  Faults in frames that no tag needs only mean: no stack. */
static uint32_t find_stack(struct snapshot *snapshot, const struct pprof_sample *sample)
{
    struct import_error error = {0};
    struct stack_walk walk = {.snapshot = snapshot, .error = &error};
    if (snapshot->stacks == NULL ||
        pprof_stack(&snapshot->profile, sample, visit_frames, &walk, &error) != IMPORT_OK) {
        return STACKS_NONE;
    }
    return stacks_add(snapshot->stacks, walk.frames, walk.count, walk.has_more);
}

/* --- samples --- */

static enum import_result fail_sample(const struct snapshot *snapshot,
                                      const struct pprof_sample *sample, const char *reason,
                                      int64_t value)
{
    char text[IMPORT_REASON_BYTES / 2];
    snprintf(text, sizeof text, reason, value);
    return IMPORT_REFUSE(snapshot->error, 0, "the sample at byte %zu: %s", sample->at, text);
}

static enum import_result read_kind(const struct snapshot *snapshot,
                                    const struct pprof_sample *sample, bool *is_program)
{
    const struct protobuf *kind = pprof_label_find(sample, "kind");
    if (kind == NULL) {
        return IMPORT_REFUSE(snapshot->error, 0, "the sample at byte %zu has no label 'kind'",
                             sample->at);
    }
    *is_program = protobuf_is_text(kind, "executable");
    if (!*is_program && !protobuf_is_text(kind, "buffer")) {
        const size_t length = kind->end - kind->offset;
        return IMPORT_REFUSE(
            snapshot->error, 0,
            "the sample at byte %zu: kind '%.*s' is neither 'buffer' nor 'executable'", sample->at,
            (int)(length < 40 ? length : 40), kind->text + kind->offset);
    }
    return IMPORT_OK;
}

static enum import_result add_group(struct snapshot *snapshot, const struct pprof_sample *sample,
                                    struct jax_group *group)
{
    struct location_walk walk = {.snapshot = snapshot, .tag = JAX_NO_TAG};
    const struct protobuf *device = pprof_label_find(sample, "device");
    device = device != NULL ? device : pprof_label_find(sample, "host"); /* of hbmstress convert */
    static const struct protobuf none = {.text = "no device", .end = sizeof "no device" - 1};
    device = device != NULL ? device : &none;
    if (!group->is_program) {
        group->device = name_table_add_whole(&snapshot->devices, device->text + device->offset,
                                             device->end - device->offset);
        if (group->device >= OP_HOST_COUNT_MAX) {
            return fail_sample(snapshot, sample, "more than %" PRId64 " devices",
                               OP_HOST_COUNT_MAX);
        }
        snapshot->device_bytes[group->device] += group->bytes;
    }
    IMPORT_TRY(pprof_stack(&snapshot->profile, sample, visit_location, &walk, snapshot->error));
    group->tag = walk.tag;
    group->stack = find_stack(snapshot, sample);
    if (group->tag != JAX_NO_TAG) {
        name_table_weigh(&snapshot->tags, group->tag, group->bytes);
    }
    snapshot->size_bits |= group->bytes / group->count;
    snapshot->size_bits |= group->bytes % group->count == 0 ? 0 : group->bytes / group->count + 1;
    snapshot->uneven_count += group->bytes % group->count != 0;
    ARRAY_ADD(snapshot->groups, snapshot->group_count, snapshot->group_room) = *group;
    return IMPORT_OK;
}

/* Sizes below 0 are "not known", -1 for each block. */
static enum import_result check_values(struct snapshot *snapshot, const struct pprof_sample *sample,
                                       int64_t count, int64_t bytes)
{
    const int needed = snapshot->count_value > snapshot->bytes_value ? snapshot->count_value
                                                                     : snapshot->bytes_value;
    if (sample->value_count <= (size_t)needed) {
        return fail_sample(snapshot, sample, "%" PRId64 " values, fewer than the profile has types",
                           (int64_t)sample->value_count);
    }
    if (count < 0) {
        return fail_sample(snapshot, sample, "the number of its blocks is %" PRId64 ", below 0",
                           count);
    }
    if (count == 0 && bytes != 0) {
        return fail_sample(snapshot, sample, "no blocks, but %" PRId64 " bytes", bytes);
    }
    if (bytes < 0 && bytes != -count) {
        return fail_sample(snapshot, sample,
                           "its size is %" PRId64 "; below 0, only -1 for each block is accepted",
                           bytes);
    }
    if (bytes > (int64_t)IMPORT_CAPACITY_MAX ||
        snapshot->buffer_bytes + snapshot->program_bytes + (uint64_t)(bytes > 0 ? bytes : 0) >
            IMPORT_CAPACITY_MAX) {
        return fail_sample(snapshot, sample,
                           "with its %" PRId64 " bytes, the profile has more than 2^50", bytes);
    }
    if (bytes > 0 &&
        (uint64_t)count > BLOCK_COUNT_MAX - snapshot->buffer_count - snapshot->program_count) {
        return fail_sample(snapshot, sample,
                           "with its %" PRId64 " blocks, the profile has more than 4194304", count);
    }
    return IMPORT_OK;
}

static enum import_result take_sample(struct snapshot *snapshot, const struct pprof_sample *sample)
{
    struct jax_group group = {.tag = JAX_NO_TAG};
    const int64_t count = sample->values[snapshot->count_value];
    const int64_t bytes = sample->values[snapshot->bytes_value];
    IMPORT_TRY(check_values(snapshot, sample, count, bytes));
    IMPORT_TRY(read_kind(snapshot, sample, &group.is_program));
    if (bytes <= 0) {
        snapshot->empty_count += bytes == 0 ? (uint64_t)count : 0;
        snapshot->unknown_count += bytes < 0 ? (uint64_t)count : 0;
        return IMPORT_OK;
    }
    /* Fewer bytes than blocks: the others are empty. */
    snapshot->empty_count += bytes < count ? (uint64_t)(count - bytes) : 0;
    group.count = (uint64_t)(bytes < count ? bytes : count);
    group.bytes = (uint64_t)bytes;
    *(group.is_program ? &snapshot->program_count : &snapshot->buffer_count) += group.count;
    *(group.is_program ? &snapshot->program_bytes : &snapshot->buffer_bytes) += group.bytes;
    return add_group(snapshot, sample, &group);
}

/* Finds a value by JAX's name, or by that of programs and `hbmstress convert`; -1: neither. */
static int find_value(const struct pprof *profile, const char *name, const char *other,
                      const char *unit)
{
    const int value = pprof_value_find(profile, name, unit);
    return value >= 0 ? value : pprof_value_find(profile, other, unit);
}

static enum import_result read_samples(struct snapshot *snapshot)
{
    struct protobuf reader = protobuf_of(snapshot->profile.text, snapshot->profile.length);
    struct pprof_sample sample;
    bool is_end = false;
    if (snapshot->profile.type_count >
        2) { /* numbers of texts in the second would mean those of the first */
        return IMPORT_REFUSE(snapshot->error, 0,
                             "the profile has %zu types of values, not 2: two "
                             "profiles in one file?",
                             snapshot->profile.type_count);
    }
    snapshot->count_value = find_value(&snapshot->profile, "allocations", "inuse_objects", "count");
    snapshot->bytes_value = find_value(&snapshot->profile, "space", "inuse_space", "bytes");
    if (snapshot->count_value < 0 || snapshot->bytes_value < 0) {
        return IMPORT_REFUSE(
            snapshot->error, 0,
            "the profile does not count 'allocations' and 'space' in bytes: it is not a device-memory profile");
    }
    for (;;) {
        IMPORT_TRY(
            pprof_sample_next(&snapshot->profile, &reader, &sample, &is_end, snapshot->error));
        if (is_end) {
            return IMPORT_OK;
        }
        IMPORT_TRY(take_sample(snapshot, &sample));
    }
}

/* --- the file --- */

static enum import_result import_jax_device_memory(const struct import_input *input,
                                                   struct import *import,
                                                   struct import_error *error)
{
    struct snapshot snapshot = {.error = error};
    enum import_result result = pprof_read(input->text, input->length, &snapshot.profile, error);
    if (result != IMPORT_OK) {
        return result;
    }
    snapshot.places = calloc(snapshot.profile.locations.count + 1, sizeof *snapshot.places);
    CHECK(snapshot.places != NULL);
    if (input->with_stacks && import->stacks == NULL) {
        import->stacks = stacks_create();
    }
    snapshot.stacks = import->stacks;
    result = read_samples(&snapshot);
    if (result == IMPORT_OK && snapshot.group_count == 0) {
        result = IMPORT_LACKS(error, "nothing in the profile has a known size");
    }
    if (result == IMPORT_OK) {
        result = jax_device_memory_build(&snapshot, input, import);
    }
    free(snapshot.places);
    free(snapshot.frames);
    free(snapshot.groups);
    name_table_deinit(&snapshot.devices);
    name_table_deinit(&snapshot.tags);
    pprof_deinit(&snapshot.profile);
    return result;
}

/* The facts seen of a file on the way through it. */
struct outline {
    size_t type_count, text_count;
    uint64_t last_text; /* the highest number of a text that a type has */
    bool has_allocations, has_space, has_kind;
};

/* A type of values: two numbers of texts. */
static bool add_type(struct outline *outline, const struct protobuf_field *field)
{
    struct protobuf reader = field->bytes;
    struct protobuf_field part;
    struct import_error ignored;
    int count = 0;
    while (protobuf_next(&reader, &part, &ignored) == IMPORT_OK && part.number != 0) {
        if (part.type != PROTOBUF_VARINT || part.number > 2) {
            return false;
        }
        outline->last_text = part.value > outline->last_text ? part.value : outline->last_text;
        count++;
    }
    outline->type_count++;
    return reader.offset == reader.end && count == 2;
}

/* False: no profile has such a field there. */
static bool add_field(struct outline *outline, const struct protobuf_field *field)
{
    enum { TYPE = 1, TEXT = 6, LAST = 15 };
    if (field->number == TYPE) {
        return field->type == PROTOBUF_BYTES && add_type(outline, field);
    }
    if (field->number == TEXT && field->type == PROTOBUF_BYTES) {
        outline->text_count++;
        outline->has_allocations = outline->has_allocations ||
                                   protobuf_is_text(&field->bytes, "allocations") ||
                                   protobuf_is_text(&field->bytes, "inuse_objects");
        outline->has_space = outline->has_space || protobuf_is_text(&field->bytes, "space") ||
                             protobuf_is_text(&field->bytes, "inuse_space");
        outline->has_kind = outline->has_kind || protobuf_is_text(&field->bytes, "kind");
    }
    return outline->type_count > 0 && field->number <= LAST;
}

/* Texts stand behind everything else: a file that is cut off before them is known by its beginning
 * only. */
static unsigned recognise_jax_device_memory(const char *text, size_t length)
{
    struct protobuf reader = protobuf_of(text, length);
    struct protobuf_field field;
    struct import_error ignored;
    struct outline outline = {.type_count = 0};
    while (protobuf_next(&reader, &field, &ignored) == IMPORT_OK && field.number != 0) {
        if (!add_field(&outline, &field)) {
            return 0;
        }
    }
    if (outline.type_count != 2) {
        return 0;
    }
    if (outline.text_count <= outline.last_text) {
        return 40;
    }
    return !outline.has_allocations || !outline.has_space ? 0 : outline.has_kind ? 85 : 60;
}

const struct format format_jax_device_memory = {
    .name = "jax_device_memory",
    .summary =
        "live buffers and executables by Python stack, from jax.profiler.save_device_memory_profile (pprof)",
    .recognise = recognise_jax_device_memory,
    .import = import_jax_device_memory,
};
