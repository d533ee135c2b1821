/* The wire format of Protocol Buffers, read in place: one field after the other of a message that
 * lies in memory, without a schema.  Nothing is copied or allocated, and every length is held
 * against the bytes that are there. Source: protobuf.dev/programming-guides/encoding. */
#ifndef FORMATS_COMMON_PROTOBUF_H
#define FORMATS_COMMON_PROTOBUF_H

#include "formats/common/import_error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum protobuf_type {
    PROTOBUF_VARINT = 0,  /* value: as it stands; a negative int64 is its two's complement */
    PROTOBUF_FIXED64 = 1, /* value: 8 bytes, least significant first */
    PROTOBUF_BYTES = 2,   /* bytes: a text, a message, or packed numbers */
    PROTOBUF_FIXED32 = 5  /* value: 4 bytes */
};

/* The reader of a message: text[offset..end).  An open value: a copy reads on by itself. */
struct protobuf {
    const char *text; /* the whole file, so that offsets are those of the file */
    size_t offset, end;
    bool is_file; /* the outermost message: what ends too early there was cut off */
};

struct protobuf_field {
    uint32_t number; /* 1..2^29-1; 0 = the message has ended */
    enum protobuf_type type;
    uint64_t value;        /* of the three kinds of numbers */
    struct protobuf bytes; /* of PROTOBUF_BYTES, ready to be read as a message */
    size_t at;             /* where its key stands, a byte of the file, from 0 */
};

/* The file as one message. */
struct protobuf protobuf_of(const char *text, size_t length);

/* Reads the next field.  IMPORT_OK: *field is set; its number is 0 behind the last one.
 * IMPORT_INCOMPLETE: the file ends within the field.  IMPORT_INVALID: its message ends within it, a
 * number of more than 64 bits, a group (obsolete since 2008), a wire type or a field number that
 * does not exist.  *error names the byte.  O(1). */
enum import_result protobuf_next(struct protobuf *reader, struct protobuf_field *field,
                                 struct import_error *error);

/* Does the same while *result is IMPORT_OK.  False at the end, and where it fails, which *result
 * then says. */
bool protobuf_more(struct protobuf *reader, struct protobuf_field *field,
                   struct import_error *error, enum import_result *result);

/* Reads two numbers of a message; one that is not there stays.  second: NULL where one is wanted.
 */
enum import_result protobuf_two(struct protobuf message, uint32_t first_field, uint64_t *first,
                                uint32_t second_field, uint64_t *second,
                                struct import_error *error);

/* The next number of packed varints, which are the whole of a PROTOBUF_BYTES field; failures are as
 * above.  Call it while reader->offset < reader->end. */
enum import_result protobuf_number(struct protobuf *reader, uint64_t *value,
                                   struct import_error *error);

/* True if a field is PROTOBUF_BYTES and exactly this text. */
bool protobuf_is_text(const struct protobuf *bytes, const char *text);

/* An entry that a file names by its number. */
struct protobuf_entry {
    uint64_t id;
    struct protobuf bytes;
    uint64_t numbers[2]; /* the caller's */
};
struct protobuf_index {
    struct protobuf_entry *entries; /* count of them, by id and then by place once sorted */
    size_t count, room;
};
void protobuf_index_add(struct protobuf_index *index, const struct protobuf_entry *entry);
void protobuf_index_sort(struct protobuf_index *index);
/* The number of the first entry of that id or above it.  O(log entries). */
size_t protobuf_index_find(const struct protobuf_index *index, uint64_t id);

#endif
