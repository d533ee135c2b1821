#include "formats/common/protobuf.h"

#include "harness/base/array.h"
#include "harness/base/order.h"
#include "harness/base/search.h"

#include <inttypes.h>
#include <string.h>

enum { VARINT_BYTES_MAX = 10, GROUP_BEGIN = 3, GROUP_END = 4 };
#define FIELD_NUMBER_MAX ((UINT64_C(1) << 29) - 1)

struct protobuf protobuf_of(const char *text, size_t length)
{
    return (struct protobuf){.text = text, .offset = 0, .end = length, .is_file = true};
}

static enum import_result fail_invalid(struct import_error *error, size_t at, const char *what)
{
    return IMPORT_REFUSE(error, 0, "byte %zu: %s", at, what);
}

/* Fails at an early end.  A file that ends too early was cut off; a message that does has a wrong
 * length. */
static enum import_result fail_ended(const struct protobuf *reader, size_t at,
                                     struct import_error *error)
{
    if (reader->is_file) {
        return IMPORT_LACKS(error, "byte %zu: the file is cut off: it ends within a field", at);
    }
    return fail_invalid(error, at, "a message ends within a field");
}

enum import_result protobuf_number(struct protobuf *reader, uint64_t *value,
                                   struct import_error *error)
{
    const size_t at = reader->offset;
    uint64_t number = 0;
    for (size_t i = 0; i < VARINT_BYTES_MAX; i++) {
        if (at + i == reader->end) {
            return fail_ended(reader, at, error);
        }
        const uint64_t byte = (unsigned char)reader->text[at + i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1) {
            break;
        }
        number |= (byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            reader->offset = at + i + 1;
            *value = number;
            return IMPORT_OK;
        }
    }
    return fail_invalid(error, at, "a number has more than 64 bits");
}

static enum import_result read_fixed(struct protobuf *reader, size_t bytes,
                                     struct protobuf_field *field, struct import_error *error)
{
    if (reader->end - reader->offset < bytes) {
        return fail_ended(reader, field->at, error);
    }
    for (size_t i = 0; i < bytes; i++) {
        field->value |= (uint64_t)(unsigned char)reader->text[reader->offset + i] << (8 * i);
    }
    reader->offset += bytes;
    return IMPORT_OK;
}

static enum import_result read_bytes(struct protobuf *reader, struct protobuf_field *field,
                                     struct import_error *error)
{
    uint64_t length = 0;
    IMPORT_TRY(protobuf_number(reader, &length, error));
    if (length > reader->end - reader->offset) {
        if (!reader->is_file) {
            return IMPORT_REFUSE(error, 0,
                                 "byte %zu: a field has %" PRIu64
                                 " bytes, but its message has only %zu left",
                                 field->at, length, reader->end - reader->offset);
        }
        return IMPORT_LACKS(error,
                            "byte %zu: the file is cut off: a field has %" PRIu64
                            " bytes, but only %zu are left",
                            field->at, length, reader->end - reader->offset);
    }
    field->bytes = *reader;
    field->bytes.end = reader->offset + (size_t)length;
    field->bytes.is_file = false;
    reader->offset = field->bytes.end;
    return IMPORT_OK;
}

static enum import_result read_value(struct protobuf *reader, struct protobuf_field *field,
                                     struct import_error *error)
{
    switch (field->type) {
    case PROTOBUF_VARINT:
        return protobuf_number(reader, &field->value, error);
    case PROTOBUF_FIXED64:
        return read_fixed(reader, 8, field, error);
    case PROTOBUF_BYTES:
        return read_bytes(reader, field, error);
    case PROTOBUF_FIXED32:
        return read_fixed(reader, 4, field, error);
    }
    return fail_invalid(error, field->at, "unknown wire type");
}

enum import_result protobuf_next(struct protobuf *reader, struct protobuf_field *field,
                                 struct import_error *error)
{
    *field = (struct protobuf_field){.at = reader->offset};
    if (reader->offset == reader->end) {
        return IMPORT_OK;
    }
    uint64_t key = 0;
    IMPORT_TRY(protobuf_number(reader, &key, error));
    const uint64_t type = key & 7;
    if (key >> 3 == 0 || key >> 3 > FIELD_NUMBER_MAX) {
        return fail_invalid(error, field->at, "the field number is not 1 to 2^29 - 1");
    }
    if (type == GROUP_BEGIN || type == GROUP_END) {
        return fail_invalid(error, field->at, "a group, which files of this kind never have");
    }
    field->number = (uint32_t)(key >> 3);
    field->type = (enum protobuf_type)type;
    return read_value(reader, field, error);
}

bool protobuf_is_text(const struct protobuf *bytes, const char *text)
{
    const size_t length = bytes->end - bytes->offset;
    return length == strlen(text) && memcmp(bytes->text + bytes->offset, text, length) == 0;
}

bool protobuf_more(struct protobuf *reader, struct protobuf_field *field,
                   struct import_error *error, enum import_result *result)
{
    *result = *result == IMPORT_OK ? protobuf_next(reader, field, error) : *result;
    return *result == IMPORT_OK && field->number != 0;
}

enum import_result protobuf_two(struct protobuf message, uint32_t first_field, uint64_t *first,
                                uint32_t second_field, uint64_t *second, struct import_error *error)
{
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&message, &field, error, &result)) {
        if (field.type == PROTOBUF_VARINT && field.number == first_field) {
            *first = field.value;
        } else if (field.type == PROTOBUF_VARINT && field.number == second_field) {
            *second = field.value;
        }
    }
    return result;
}

/* --- what has a number --- */

void protobuf_index_add(struct protobuf_index *index, const struct protobuf_entry *entry)
{
    ARRAY_ADD(index->entries, index->count, index->room) = *entry;
}

static int compare_entries(const void *a, const void *b)
{
    const struct protobuf_entry *left = a;
    const struct protobuf_entry *right = b;
    return compare_places(left->id, left->bytes.offset, right->id, right->bytes.offset);
}

void protobuf_index_sort(struct protobuf_index *index)
{
    if (index->count > 0) {
        qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    }
}

size_t protobuf_index_find(const struct protobuf_index *index, uint64_t id)
{
    size_t first;
    SEARCH_FIRST(first, 0, index->count, index->entries[first].id >= id);
    return first;
}
