/* Who holds memory at one moment, as a profile of pprof (github.com/google/pprof,
 * proto/profile.proto): a sample for each host, tag and state; the parts of a tag's name are its
 * stack. */
#include "formats/export/export.h"
#include "formats/export/private/stays.h"
#include "harness/base/array.h"
#include "harness/base/utf8.h"
#include "harness/base/writing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Numbers of fields, as the schema has them. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
    TYPE_NAME = 1,
    TYPE_UNIT = 2,
    SAMPLE_LOCATION = 1,
    SAMPLE_VALUE = 2,
    SAMPLE_LABEL = 3,
    LABEL_KEY = 1,
    LABEL_TEXT = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3
};
enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

/* States of blocks, and the stack of programs. */
enum { STATE_STACK = STAY_STATE_COUNT, STATE_COUNT };

/* The blocks of one tag, host and state: now, and at the moment that is shown. */
struct pprof_cell {
    uint64_t count, bytes;
    uint64_t shown_count, shown_bytes;
    bool is_changed; /* since the moment that is shown */
};

struct pprof_state {
    struct stays stays;
    struct pprof_cell *cells; /* by host, tag and state */
    uint32_t *changed;        /* cells that are: changed_count */
    size_t changed_count, changed_room;
    uint64_t bytes, peak_bytes; /* of all cells: now, and the most after an op so far */
    bool is_shown;              /* a moment is */
    uint32_t op;                /* that moment is after it */
};

static size_t count_cells(const struct export *export)
{
    return (size_t) export->setup->host_count * OP_TAG_COUNT * STATE_COUNT;
}

static uint32_t find_cell(uint32_t host, uint32_t tag, uint32_t state)
{
    return (host * OP_TAG_COUNT + tag) * STATE_COUNT + state;
}

static bool begin_pprof(struct export *export)
{
    struct pprof_state *state = export->state;
    state->cells = calloc(count_cells(export), sizeof *state->cells);
    return state->cells != NULL;
}

/* --- cells --- */

static void change_cell(struct pprof_state *state, uint32_t number, uint64_t count, uint64_t bytes)
{
    struct pprof_cell *cell = &state->cells[number];
    state->bytes += bytes - cell->bytes;
    cell->count = count;
    cell->bytes = bytes;
    if (!cell->is_changed) {
        cell->is_changed = true;
        ARRAY_ADD(state->changed, state->changed_count, state->changed_room) = number;
    }
}

/* Blocks of the stay came: 1, or UINT64_MAX, which is -1. */
static void count_stay(struct pprof_state *state, const struct stay *stay, uint64_t count)
{
    const uint32_t number = find_cell(stay->host, stay->tag, stay->state);
    const struct pprof_cell *cell = &state->cells[number];
    change_cell(state, number, cell->count + count, cell->bytes + count * stay->size_bytes);
}

static void take_pprof_event(struct export *export, const struct export_event *event)
{
    struct pprof_state *state = export->state;
    const struct stay_change change = stays_take(&state->stays, event);
    if (change.has_ended) {
        count_stay(state, &change.ended, UINT64_MAX);
    }
    if (change.has_begun) {
        count_stay(state, &change.begun, 1);
    }
}

/* O(cells that changed since the moment that was shown). */
static void show_moment(struct pprof_state *state, uint32_t op)
{
    for (size_t i = 0; i < state->changed_count; i++) {
        struct pprof_cell *cell = &state->cells[state->changed[i]];
        cell->shown_count = cell->count;
        cell->shown_bytes = cell->bytes;
        cell->is_changed = false;
    }
    state->changed_count = 0;
    state->is_shown = true;
    state->op = op;
}

static bool is_moment(const struct export *export, const struct export_op *op)
{
    const struct pprof_state *state = export->state;
    switch (export->moment) {
    case EXPORT_AT_PEAK:
        return state->bytes > state->peak_bytes || !state->is_shown;
    case EXPORT_AT_FAILURE:
        return !state->is_shown && !op->is_skipped && op->result == TARGET_NO_MEMORY;
    case EXPORT_AT_OP:
        return op->number == export->moment_op;
    }
    return false;
}

static void take_pprof_op(struct export *export, const struct export_op *op)
{
    struct pprof_state *state = export->state;
    for (uint32_t i = 0; i < export->setup->host_count; i++) {
        const uint64_t bytes = op->memory[i].reserved_bytes;
        const uint32_t number = find_cell(i, 0, STATE_STACK);
        if (state->cells[number].bytes != bytes) {
            change_cell(state, number, bytes > 0, bytes);
        }
    }
    if (is_moment(export, op)) {
        show_moment(state, op->number);
    }
    state->peak_bytes = state->bytes > state->peak_bytes ? state->bytes : state->peak_bytes;
}

/* --- the wire format --- */

static void append_varint(struct writing *message, uint64_t number)
{
    do {
        const unsigned char byte = (unsigned char)((number & 0x7F) | (number > 0x7F ? 0x80 : 0));
        writing_append_bytes(message, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

static void append_number(struct writing *message, uint32_t field, uint64_t number)
{
    append_varint(message, field << 3 | WIRE_NUMBER);
    append_varint(message, number);
}

static void append_field(struct writing *message, uint32_t field, const void *bytes, size_t length)
{
    append_varint(message, field << 3 | WIRE_BYTES);
    append_varint(message, length);
    writing_append_bytes(message, bytes, length);
}

/* Moves a message into the one that has it. */
static void append_message(struct writing *message, uint32_t field, struct writing *part)
{
    append_field(message, field, part->bytes, part->length);
    writing_deinit(part);
}

static void append_two(struct writing *message, uint32_t field, uint64_t first, uint64_t second)
{
    struct writing part;
    writing_init(&part);
    append_number(&part, 1, first);
    append_number(&part, 2, second);
    append_message(message, field, &part);
}
static_assert(TYPE_NAME == 1 && TYPE_UNIT == 2 && LABEL_KEY == 1 && LABEL_TEXT == 2, "append_two");

/* --- the profile --- */

struct profile {
    struct writing message;
    char **strings; /* string_count of them; the first is "" */
    size_t string_count, string_room;
    size_t *functions; /* function_count of them: their names; the id is the index and 1 */
    size_t function_count, function_room;
};

static uint64_t find_string(struct profile *profile, const char *string)
{
    for (size_t i = 0; i < profile->string_count; i++) {
        if (strcmp(profile->strings[i], string) == 0) {
            return i;
        }
    }
    char *copy = strdup(string);
    CHECK(copy != NULL);
    ARRAY_ADD(profile->strings, profile->string_count, profile->string_room) = copy;
    return profile->string_count - 1;
}

/* Each function is one location, with the same id. */
static uint64_t find_function(struct profile *profile, const char *name)
{
    const size_t string = find_string(profile, name);
    for (size_t i = 0; i < profile->function_count; i++) {
        if (profile->functions[i] == string) {
            return i + 1;
        }
    }
    ARRAY_ADD(profile->functions, profile->function_count, profile->function_room) = string;
    return profile->function_count;
}

/* The innermost first: the last part of the name. */
static void append_stack(struct profile *profile, const char *name, struct writing *locations)
{
    char parts[SETUP_NAME_BYTES];
    snprintf(parts, sizeof parts, "%s", name);
    for (size_t end = strlen(parts); end > 0;) {
        size_t start = end;
        while (start > 0 && strchr("/;", parts[start - 1]) == NULL) {
            start--;
        }
        parts[end] = '\0';
        if (start < end) {
            append_varint(locations, find_function(profile, parts + start));
        }
        end = start > 0 ? start - 1 : 0;
    }
    if (locations->length == 0) { /* a name of separators alone */
        append_varint(locations, find_function(profile, name));
    }
}

static const char *name_cell(const struct setup *setup, uint32_t tag, uint32_t state,
                             char name[SETUP_NAME_BYTES])
{
    if (state == STATE_STACK) {
        return "stack of programs";
    }
    (void)export_tag(setup, (uint8_t)tag, name);
    utf8_make_printable(name);
    return name[0] == '\0' ? "(no tag)" : name;
}

static void append_label(struct profile *profile, struct writing *sample, const char *key,
                         const char *text)
{
    const uint64_t first = find_string(profile, key);
    append_two(sample, SAMPLE_LABEL, first, find_string(profile, text));
}

static void append_sample(struct profile *profile, const struct export *export, uint32_t number)
{
    const struct pprof_cell *cell = &((struct pprof_state *)export->state)->cells[number];
    const uint32_t state = number % STATE_COUNT;
    char name[SETUP_NAME_BYTES], host[32];
    struct writing sample, part;
    writing_init(&sample);
    writing_init(&part);
    append_stack(profile,
                 name_cell(export->setup, number / STATE_COUNT % OP_TAG_COUNT, state, name), &part);
    append_message(&sample, SAMPLE_LOCATION, &part);
    writing_init(&part);
    append_varint(&part, cell->shown_count);
    append_varint(&part, cell->shown_bytes);
    append_message(&sample, SAMPLE_VALUE, &part);
    snprintf(host, sizeof host, "host %u", number / STATE_COUNT / OP_TAG_COUNT);
    append_label(profile, &sample, "host", host);
    append_label(profile, &sample, "state",
                 state == STATE_STACK ? "stack" : stay_state_name(state));
    append_label(profile, &sample, "kind", state == STAY_PROGRAM ? "executable" : "buffer");
    append_message(&profile->message, PROFILE_SAMPLE, &sample);
}

static void append_function(struct profile *profile, size_t index)
{
    const uint64_t id = index + 1;
    struct writing location, line, function;
    writing_init(&line);
    append_number(&line, LINE_FUNCTION, id);
    writing_init(&location);
    append_number(&location, LOCATION_ID, id);
    append_message(&location, LOCATION_LINE, &line);
    append_message(&profile->message, PROFILE_LOCATION, &location);
    writing_init(&function);
    append_number(&function, FUNCTION_ID, id);
    append_number(&function, FUNCTION_NAME, profile->functions[index]);
    append_number(&function, FUNCTION_SYSTEM_NAME, profile->functions[index]);
    append_message(&profile->message, PROFILE_FUNCTION, &function);
}

static void make_profile(struct profile *profile, const struct export *export)
{
    const struct pprof_state *state = export->state;
    struct writing *message = &profile->message;
    char comment[64];
    (void)find_string(profile, "");
    const uint64_t objects = find_string(profile, "inuse_objects");
    append_two(message, PROFILE_SAMPLE_TYPE, objects, find_string(profile, "count"));
    const uint64_t space = find_string(profile, "inuse_space");
    append_two(message, PROFILE_SAMPLE_TYPE, space, find_string(profile, "bytes"));
    for (uint32_t i = 0; i < count_cells(export); i++) {
        if (state->cells[i].shown_count > 0) {
            append_sample(profile, export, i);
        }
    }
    for (size_t i = 0; i < profile->function_count; i++) {
        append_function(profile, i);
    }
    struct writing source;
    writing_init(&source);
    writing_append_visible(&source, export->source);
    append_number(message, PROFILE_COMMENT, find_string(profile, writing_string(&source)));
    writing_deinit(&source);
    snprintf(comment, sizeof comment, "after op %u", state->op);
    append_number(message, PROFILE_COMMENT, find_string(profile, comment));
    append_number(message, PROFILE_DEFAULT_TYPE, space);
    for (size_t i = 0; i < profile->string_count; i++) {
        append_field(message, PROFILE_STRING, profile->strings[i], strlen(profile->strings[i]));
    }
}

/* gzip, whose header has no time: the same profile is the same file.  False: no host memory. */
static bool put_compressed(const struct writing *message, FILE *stream)
{
    enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8 }; /* zlib's words for "with gzip's header" */
    z_stream compressor = {.next_in = (unsigned char *)message->bytes};
    if (deflateInit2(&compressor, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    const uLong room = deflateBound(&compressor, message->length);
    unsigned char *bytes = malloc(room);
    compressor.avail_in = (uInt)message->length; /* tags, states and hosts bound it */
    compressor.next_out = bytes;
    compressor.avail_out = (uInt)room;
    const bool is_whole = bytes != NULL && deflate(&compressor, Z_FINISH) == Z_STREAM_END;
    if (is_whole) {
        (void)fwrite(bytes, 1, compressor.total_out, stream);
    }
    (void)deflateEnd(&compressor);
    free(bytes);
    return is_whole;
}

static bool put_profile(struct export *export)
{
    struct profile profile = {.string_count = 0};
    writing_init(&profile.message);
    make_profile(&profile, export);
    CHECK(profile.message.length <= UINT32_MAX);
    const bool is_put = put_compressed(&profile.message, export->stream);
    for (size_t i = 0; i < profile.string_count; i++) {
        free(profile.strings[i]);
    }
    free(profile.strings);
    free(profile.functions);
    writing_deinit(&profile.message);
    return is_put;
}

static bool end_pprof(struct export *export, const struct export_final *final)
{
    struct pprof_state *state = export->state;
    export->has_missed = final != NULL && !state->is_shown && export->moment != EXPORT_AT_PEAK;
    const bool is_good = final == NULL || export->has_missed || put_profile(export);
    stays_deinit(&state->stays);
    free(state->changed);
    free(state->cells);
    return is_good;
}

const struct exporter exporter_pprof = {
    .name = "pprof",
    .suffix = ".pb.gz",
    .summary = "who holds memory at one moment, as a profile of pprof",
    .state_bytes = sizeof(struct pprof_state),
    .begin = begin_pprof,
    .event = take_pprof_event,
    .op = take_pprof_op,
    .end = end_pprof,
    .has_moment = true,
};
