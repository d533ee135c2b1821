/* Memory events of an XLA or TensorFlow profile, *.xplane.pb.  Source of the numbers of fields:
 * tsl/profiler/protobuf/xplane.proto.
 *
 *     XSpace 1: XPlane  2: name  3: XLine  3: timestamp_ns  4: XEvent
 *                       1: metadata  2: offset_ps  4: XStat
 *                       4, 5: names of events and of stats by number, behind the lines */
#include "formats/common/import.h"
#include "formats/common/protobuf.h"
#include "formats/common/tags.h"
#include "formats/profile/private/memory_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPACE_PLANE = 1, SPACE_LAST = 4 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5 };
enum { MAP_KEY = 1, MAP_VALUE = 2 };
enum { METADATA_NAME = 2 };
enum { LINE_TIMESTAMP = 3, LINE_EVENT = 4 };
enum { EVENT_METADATA = 1, EVENT_OFFSET = 2, EVENT_STAT = 4 };
enum {
    STAT_METADATA = 1,
    STAT_DOUBLE = 2,
    STAT_UINT = 3,
    STAT_INT = 4,
    STAT_TEXT = 5,
    STAT_BYTES = 6,
    STAT_REF = 7
};
enum { PS_PER_NS = 1000 };

/* One plane while it is read. */
struct plane {
    struct memory_events *events;
    struct import_error *error;
    struct protobuf_index event_names; /* of memory events only */
    struct protobuf_index stat_names;
    char name[MEMORY_TEXT_BYTES];
};

/* --- names --- */

/* The name of that number, or NULL; where a number comes twice the last one counts. */
static const struct protobuf *find_name(const struct protobuf_index *names, uint64_t id)
{
    const size_t behind = id == UINT64_MAX ? names->count : protobuf_index_find(names, id + 1);
    const struct protobuf_entry *entry = behind == 0 ? NULL : &names->entries[behind - 1];
    return entry != NULL && entry->id == id ? &entry->bytes : NULL;
}

/* Metadata is a message of its own; of it only the name is of interest. */
static enum import_result read_metadata(struct protobuf metadata, struct protobuf *name,
                                        struct import_error *error)
{
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    *name = (struct protobuf){
        .text = metadata.text, .offset = metadata.offset, .end = metadata.offset};
    while (protobuf_more(&metadata, &field, error, &result)) {
        if (field.number == METADATA_NAME && field.type == PROTOBUF_BYTES) {
            *name = field.bytes;
        }
    }
    return result;
}

static enum import_result add_name(struct plane *plane, const struct protobuf_field *of_map)
{
    struct protobuf map = of_map->bytes;
    struct protobuf_field field;
    struct protobuf_entry entry = {
        .bytes = {.text = map.text, .offset = map.offset, .end = map.offset}};
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&map, &field, plane->error, &result)) {
        if (field.number == MAP_KEY && field.type == PROTOBUF_VARINT) {
            entry.id = field.value;
        } else if (field.number == MAP_VALUE && field.type == PROTOBUF_BYTES) {
            result = read_metadata(field.bytes, &entry.bytes, plane->error);
        }
    }
    IMPORT_TRY(result);
    if (of_map->number == PLANE_STAT_NAMES) {
        protobuf_index_add(&plane->stat_names, &entry);
    } else if (protobuf_is_text(&entry.bytes, "MemoryAllocation") ||
               protobuf_is_text(&entry.bytes, "MemoryDeallocation")) {
        protobuf_index_add(&plane->event_names, &entry);
    }
    return IMPORT_OK;
}

/* Names come behind the lines that use them, so they are read first. */
static enum import_result read_names(struct plane *plane, struct protobuf reader)
{
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&reader, &field, plane->error, &result)) {
        if (field.type == PROTOBUF_BYTES && field.number == PLANE_NAME) {
            name_keep(field.bytes.text + field.bytes.offset, field.bytes.end - field.bytes.offset,
                      plane->name, sizeof plane->name);
        } else if (field.type == PROTOBUF_BYTES &&
                   (field.number == PLANE_EVENT_NAMES || field.number == PLANE_STAT_NAMES)) {
            result = add_name(plane, &field);
        }
    }
    protobuf_index_sort(&plane->event_names);
    protobuf_index_sort(&plane->stat_names);
    return result;
}

/* --- events --- */

/* A stat as its file has it. */
struct stat {
    uint64_t metadata, number;
    struct protobuf text;
    bool is_number, is_negative, is_text;
};

static void set_stat(const struct plane *plane, const struct protobuf_field *field,
                     struct stat *stat)
{
    if (field->number == STAT_METADATA && field->type == PROTOBUF_VARINT) {
        stat->metadata = field->value;
    } else if ((field->number == STAT_UINT || field->number == STAT_INT) &&
               field->type == PROTOBUF_VARINT) {
        stat->number = field->value;
        stat->is_number = true;
        stat->is_negative = field->number == STAT_INT && field->value >> 63 != 0;
    } else if ((field->number == STAT_TEXT || field->number == STAT_BYTES) &&
               field->type == PROTOBUF_BYTES) {
        stat->text = field->bytes;
        stat->is_text = true;
    } else if (field->number == STAT_REF && field->type == PROTOBUF_VARINT) {
        const struct protobuf *name = find_name(&plane->stat_names, field->value);
        stat->is_text = name != NULL;
        stat->text = name != NULL ? *name : stat->text;
    }
}

static enum import_result read_stat(const struct plane *plane, size_t at, struct protobuf reader,
                                    struct memory_event *event)
{
    struct protobuf_field field;
    struct stat stat = {0};
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&reader, &field, plane->error, &result)) {
        set_stat(plane, &field, &stat);
    }
    const struct protobuf *name = find_name(&plane->stat_names, stat.metadata);
    if (result != IMPORT_OK || name == NULL) {
        return result;
    }
    const char *text = name->text + name->offset;
    const size_t length = name->end - name->offset;
    /* A double, or nothing, is an empty text. */
    const bool is_taken = stat.is_number && !stat.is_text
                              ? memory_event_take_number(event, text, length, stat.number,
                                                         stat.is_negative)
                              : memory_event_take_text(
                                    event, text, length,
                                    stat.is_text ? stat.text.text + stat.text.offset : "",
                                    stat.is_text ? stat.text.end - stat.text.offset : 0);
    return is_taken ? IMPORT_OK
                    : IMPORT_REFUSE(plane->error, 0,
                                    "byte %zu: %.*s of a memory event is not a number of 0 or more",
                                    at, (int)length, text);
}

/* The line's time and the event's offset in it.  False: beyond 2^63 ns. */
static bool add_times(int64_t line_ns, int64_t offset_ps, struct memory_event *event)
{
    int64_t ns = offset_ps / PS_PER_NS;
    int64_t ps = offset_ps % PS_PER_NS;
    if (ps < 0) {
        ps += PS_PER_NS;
        ns--;
    }
    event->time_ps = (uint32_t)ps;
    return !__builtin_add_overflow(line_ns, ns, &event->time_ns);
}

static enum import_result read_event(struct plane *plane, size_t at, int64_t line_ns,
                                     struct protobuf reader)
{
    struct memory_event event = {.at = at};
    struct protobuf_field field;
    uint64_t metadata = 0, offset_ps = 0;
    enum import_result result = IMPORT_OK;
    /* The event's kind comes first: it decides whether the rest is read. */
    IMPORT_TRY(
        protobuf_two(reader, EVENT_METADATA, &metadata, EVENT_OFFSET, &offset_ps, plane->error));
    const struct protobuf *name = find_name(&plane->event_names, metadata);
    if (name == NULL) {
        return IMPORT_OK;
    }
    if (!add_times(line_ns, (int64_t)offset_ps, &event)) {
        return IMPORT_REFUSE(plane->error, 0, "byte %zu: the time of an event is beyond 2^63 ns",
                             at);
    }
    event.is_allocation = protobuf_is_text(name, "MemoryAllocation");
    while (protobuf_more(&reader, &field, plane->error, &result)) {
        if (field.number == EVENT_STAT && field.type == PROTOBUF_BYTES) {
            result = read_stat(plane, field.at, field.bytes, &event);
        }
    }
    IMPORT_TRY(result);
    return memory_events_add(plane->events, &event, plane->name, plane->error);
}

static enum import_result read_line(struct plane *plane, struct protobuf reader)
{
    struct protobuf_field field;
    uint64_t line_ns = 0;
    enum import_result result = protobuf_two(reader, LINE_TIMESTAMP, &line_ns, 0, NULL,
                                             plane->error);
    while (protobuf_more(&reader, &field, plane->error, &result)) {
        if (field.number == LINE_EVENT && field.type == PROTOBUF_BYTES) {
            result = read_event(plane, field.at, (int64_t)line_ns, field.bytes);
        }
    }
    return result;
}

/* --- the file --- */

static enum import_result read_plane(struct memory_events *events, struct protobuf reader,
                                     struct import_error *error)
{
    struct plane plane = {.events = events, .error = error};
    struct protobuf_field field;
    enum import_result result = read_names(&plane, reader);
    /* Also where there is no memory event: damage is damage. */
    while (protobuf_more(&reader, &field, error, &result)) {
        if (field.number == PLANE_LINE && field.type == PROTOBUF_BYTES) {
            result = read_line(&plane, field.bytes);
        }
    }
    free(plane.event_names.entries);
    free(plane.stat_names.entries);
    return result;
}

static enum import_result import_xplane(const struct import_input *input, struct import *import,
                                        struct import_error *error)
{
    struct memory_events *events = memory_events_create(input, false);
    struct protobuf reader = protobuf_of(input->text, input->length);
    struct protobuf_field field;
    enum import_result result = IMPORT_OK;
    while (protobuf_more(&reader, &field, error, &result)) {
        if (field.number == SPACE_PLANE && field.type == PROTOBUF_BYTES) {
            result = read_plane(events, field.bytes, error);
        }
    }
    if (result == IMPORT_OK) {
        result = memory_events_import(events, input, import, error);
    }
    memory_events_destroy(events);
    return result;
}

/* True if a message has the fields of a plane, up to its name. */
static bool is_plane(struct protobuf reader)
{
    struct protobuf_field field;
    struct import_error ignored;
    while (protobuf_next(&reader, &field, &ignored) == IMPORT_OK && field.number != 0) {
        if (field.number == PLANE_NAME) {
            return field.type == PROTOBUF_BYTES && field.bytes.end > field.bytes.offset;
        }
        if (field.number != 1 || field.type != PROTOBUF_VARINT) { /* the plane's number */
            return false;
        }
    }
    return false;
}

/* Messages have no first bytes of their own: all fields of the file must be those of a space, and
 * the first a plane with a name. */
static unsigned recognise_xplane(const char *text, size_t length)
{
    struct protobuf reader = protobuf_of(text, length);
    struct protobuf_field field;
    struct import_error ignored;
    bool has_plane = false;
    enum import_result result;
    while ((result = protobuf_next(&reader, &field, &ignored)) == IMPORT_OK && field.number != 0) {
        if (field.number > SPACE_LAST || field.type != PROTOBUF_BYTES) {
            return 0;
        }
        if (!has_plane && field.number == SPACE_PLANE) {
            has_plane = is_plane(field.bytes);
            if (!has_plane) {
                return 0;
            }
        }
    }
    if (result == IMPORT_INCOMPLETE && !has_plane && field.number == SPACE_PLANE &&
        field.type == PROTOBUF_BYTES) {
        has_plane = is_plane(reader); /* cut off in its first plane, whose bytes come next */
    }
    return !has_plane ? 0 : result == IMPORT_OK ? 80 : 60;
}

const struct format format_xplane = {
    .name = "xplane",
    .summary = "memory events of an XLA or TensorFlow profile (*.xplane.pb)",
    .recognise = recognise_xplane,
    .import = import_xplane,
};
