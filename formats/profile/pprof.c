#include "formats/profile/private/jax_device_memory.h"

#include "harness/base/array.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROFILE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6
};
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

/* --- the index --- */

static enum import_result add_field(struct pprof *profile, const struct protobuf_field *field,
                                    struct import_error *error)
{
    struct protobuf_entry entry = {.bytes = field->bytes};
    uint64_t *numbers = entry.numbers;
    if (field->type != PROTOBUF_BYTES) {
        return IMPORT_OK;
    }
    switch (field->number) {
    case PROFILE_TYPE:
        IMPORT_TRY(protobuf_two(field->bytes, 1, &numbers[0], 2, &numbers[1], error));
        if (profile->type_count < PPROF_VALUE_COUNT_MAX) {
            memcpy(profile->types[profile->type_count++], numbers, sizeof entry.numbers);
        }
        break;
    case PROFILE_SAMPLE:
        profile->sample_count++;
        break;
    case PROFILE_LOCATION:
        IMPORT_TRY(protobuf_two(field->bytes, LOCATION_ID, &entry.id, 0, NULL, error));
        protobuf_index_add(&profile->locations, &entry);
        break;
    case PROFILE_FUNCTION:
        IMPORT_TRY(protobuf_two(field->bytes, FUNCTION_ID, &entry.id, 0, NULL, error));
        IMPORT_TRY(protobuf_two(field->bytes, FUNCTION_NAME, &numbers[0], FUNCTION_FILE,
                                &numbers[1], error));
        protobuf_index_add(&profile->functions, &entry);
        break;
    case PROFILE_STRING:
        ARRAY_ADD(profile->strings, profile->string_count, profile->string_room) = field->at;
        break;
    default:
        break;
    }
    return IMPORT_OK;
}

/* Texts come last: where one is not there, the end of the file is missing most likely. */
static enum import_result fail_absent_text(const struct pprof *profile, uint64_t number,
                                           struct import_error *error)
{
    return IMPORT_LACKS(error,
                        "text %" PRIu64
                        " is not in the profile, which has %zu texts: it is cut off or damaged",
                        number, profile->string_count);
}

/* Checks that everything that samples may name has its texts. */
static enum import_result check_texts(const struct pprof *profile, struct import_error *error)
{
    for (size_t i = 0; i < 2 * profile->type_count; i++) {
        const uint64_t number = profile->types[i / 2][i % 2];
        if (number >= profile->string_count) {
            return fail_absent_text(profile, number, error);
        }
    }
    for (size_t i = 0; i < profile->functions.count; i++) {
        const uint64_t *numbers = profile->functions.entries[i].numbers;
        const uint64_t number = numbers[0] > numbers[1] ? numbers[0] : numbers[1];
        if (number >= profile->string_count) {
            return fail_absent_text(profile, number, error);
        }
    }
    return IMPORT_OK;
}

enum import_result pprof_read(const char *text, size_t length, struct pprof *profile,
                              struct import_error *error)
{
    struct protobuf reader = protobuf_of(text, length);
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    *profile = (struct pprof){.text = text, .length = length};
    while (protobuf_more(&reader, &field, error, &result)) {
        result = add_field(profile, &field, error);
    }
    if (result == IMPORT_OK) {
        protobuf_index_sort(&profile->locations);
        protobuf_index_sort(&profile->functions);
        result = check_texts(profile, error);
    }
    if (result != IMPORT_OK) {
        pprof_deinit(profile);
    }
    return result;
}

void pprof_deinit(struct pprof *profile)
{
    free(profile->strings);
    free(profile->functions.entries);
    free(profile->locations.entries);
    *profile = (struct pprof){0};
}

bool pprof_text(const struct pprof *profile, uint64_t number, struct protobuf *text)
{
    struct protobuf_field field;
    struct import_error ignored;
    if (number >= profile->string_count) {
        return false;
    }
    struct protobuf reader = {
        .text = profile->text, .offset = profile->strings[number], .end = profile->length};
    if (protobuf_next(&reader, &field, &ignored) != IMPORT_OK) {
        return false;
    }
    *text = field.bytes;
    return true;
}

int pprof_value_find(const struct pprof *profile, const char *type, const char *unit)
{
    for (size_t i = 0; i < profile->type_count; i++) {
        struct protobuf names[2];
        if (pprof_text(profile, profile->types[i][0], &names[0]) &&
            pprof_text(profile, profile->types[i][1], &names[1]) &&
            protobuf_is_text(&names[0], type) && protobuf_is_text(&names[1], unit)) {
            return (int)i;
        }
    }
    return -1;
}

/* --- samples --- */

static enum import_result fail_absent(struct import_error *error, size_t at, const char *what,
                                      uint64_t number)
{
    return IMPORT_REFUSE(error, 0, "byte %zu: %s %" PRIu64 " is not in the profile", at, what,
                         number);
}

static enum import_result add_value(struct pprof_sample *sample, uint64_t value,
                                    struct import_error *error)
{
    if (sample->value_count == PPROF_VALUE_COUNT_MAX) {
        return IMPORT_REFUSE(error, 0, "the sample at byte %zu has more than %d values", sample->at,
                             PPROF_VALUE_COUNT_MAX);
    }
    sample->values[sample->value_count++] = (int64_t)value;
    return IMPORT_OK;
}

/* Numbers are packed; one by one is the older form. */
static enum import_result add_values(struct pprof_sample *sample,
                                     const struct protobuf_field *field, struct import_error *error)
{
    if (field->type != PROTOBUF_BYTES) {
        return add_value(sample, field->value, error);
    }
    struct protobuf packed = field->bytes;
    uint64_t value = 0;
    while (packed.offset < packed.end) {
        IMPORT_TRY(protobuf_number(&packed, &value, error));
        IMPORT_TRY(add_value(sample, value, error));
    }
    return IMPORT_OK;
}

static enum import_result add_label(const struct pprof *profile, struct pprof_sample *sample,
                                    const struct protobuf_field *field, struct import_error *error)
{
    uint64_t numbers[2] = {0, 0}; /* text 0 is empty */
    IMPORT_TRY(protobuf_two(field->bytes, LABEL_KEY, &numbers[0], LABEL_TEXT, &numbers[1], error));
    if (sample->label_count == PPROF_LABEL_COUNT_MAX) {
        return IMPORT_REFUSE(error, 0, "the sample at byte %zu has more than %d labels", sample->at,
                             PPROF_LABEL_COUNT_MAX);
    }
    struct pprof_label *label = &sample->labels[sample->label_count++];
    if (!pprof_text(profile, numbers[0], &label->key)) {
        return fail_absent_text(profile, numbers[0], error);
    }
    return pprof_text(profile, numbers[1], &label->text)
               ? IMPORT_OK
               : fail_absent_text(profile, numbers[1], error);
}

static enum import_result read_sample(const struct pprof *profile, struct pprof_sample *sample,
                                      struct import_error *error)
{
    struct protobuf reader = sample->message;
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&reader, &field, error, &result)) {
        if (field.number == SAMPLE_VALUE) {
            result = add_values(sample, &field, error);
        } else if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES) {
            result = add_label(profile, sample, &field, error);
        }
    }
    return result;
}

enum import_result pprof_sample_next(const struct pprof *profile, struct protobuf *reader,
                                     struct pprof_sample *sample, bool *is_end,
                                     struct import_error *error)
{
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(reader, &field, error, &result)) {
        if (field.number == PROFILE_SAMPLE && field.type == PROTOBUF_BYTES) {
            *sample = (struct pprof_sample){.at = field.at, .message = field.bytes};
            return read_sample(profile, sample, error);
        }
    }
    *is_end = true;
    return result;
}

const struct protobuf *pprof_label_find(const struct pprof_sample *sample, const char *key)
{
    for (size_t i = 0; i < sample->label_count; i++) {
        if (protobuf_is_text(&sample->labels[i].key, key)) {
            return &sample->labels[i].text;
        }
    }
    return NULL;
}

/* --- stacks --- */

static enum import_result visit_location(const struct pprof *profile, size_t at, uint64_t id,
                                         pprof_visit *visit, void *context, bool *is_over,
                                         struct import_error *error)
{
    const size_t location = protobuf_index_find(&profile->locations, id);
    return location == profile->locations.count || profile->locations.entries[location].id != id
               ? fail_absent(error, at, "location", id)
               : visit(context, location, is_over);
}

enum import_result pprof_stack(const struct pprof *profile, const struct pprof_sample *sample,
                               pprof_visit *visit, void *context, struct import_error *error)
{
    struct protobuf reader = sample->message;
    struct protobuf_field field;
    bool is_over = false;
    enum import_result result = IMPORT_OK;
    while (!is_over && protobuf_more(&reader, &field, error, &result)) {
        if (field.number != SAMPLE_LOCATION) {
            continue;
        }
        if (field.type != PROTOBUF_BYTES) {
            IMPORT_TRY(
                visit_location(profile, field.at, field.value, visit, context, &is_over, error));
        }
        while (!is_over && field.bytes.offset < field.bytes.end) {
            uint64_t id = 0;
            IMPORT_TRY(protobuf_number(&field.bytes, &id, error));
            IMPORT_TRY(visit_location(profile, field.at, id, visit, context, &is_over, error));
        }
    }
    return result;
}

struct protobuf pprof_location(const struct pprof *profile, size_t location)
{
    return profile->locations.entries[location].bytes;
}

static enum import_result read_frame(const struct pprof *profile,
                                     const struct protobuf_field *field, struct pprof_frame *frame,
                                     struct import_error *error)
{
    uint64_t id = 0;
    *frame = (struct pprof_frame){.line = 0};
    IMPORT_TRY(protobuf_two(field->bytes, LINE_FUNCTION, &id, LINE_NUMBER, &frame->line, error));
    const size_t number = protobuf_index_find(&profile->functions, id);
    if (number == profile->functions.count || profile->functions.entries[number].id != id) {
        return fail_absent(error, field->at, "function", id);
    }
    const struct protobuf_entry *function = &profile->functions.entries[number];
    const bool are_there = pprof_text(profile, function->numbers[0], &frame->function) &&
                           pprof_text(profile, function->numbers[1], &frame->file);
    CHECK(are_there); /* check_texts */
    return IMPORT_OK;
}

enum import_result pprof_frame_next(const struct pprof *profile, struct protobuf *reader,
                                    struct pprof_frame *frame, bool *is_end,
                                    struct import_error *error)
{
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(reader, &field, error, &result)) {
        if (field.number == LOCATION_LINE && field.type == PROTOBUF_BYTES) {
            return read_frame(profile, &field, frame, error);
        }
    }
    *is_end = true;
    return result;
}
