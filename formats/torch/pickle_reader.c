#include "formats/torch/private/pickle_reader.h"

#include "harness/base/array.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum import_result pickle_fail(struct pickle_reader *reader, enum import_result result,
                               const char *reason, ...)
{
    char text[IMPORT_REASON_BYTES / 2];
    va_list arguments;
    va_start(arguments, reason);
    vsnprintf(text, sizeof text, reason, arguments);
    va_end(arguments);
    return import_fail(reader->error, result, 0, 0, "byte %zu: %s: %s", reader->begin, reader->name,
                       text);
}

static enum import_result fail_no_host_memory(struct pickle_reader *reader)
{
    return pickle_fail(reader, IMPORT_UNREADABLE, "no host memory for its value");
}

void pickle_reader_init(struct pickle_reader *reader, const char *text, size_t length,
                        struct import_error *error)
{
    *reader = (struct pickle_reader){.text = text, .length = length, .name = "", .error = error};
    reader->empty_list = json_array();
    reader->empty_dict = json_object();
}

void pickle_reader_deinit(struct pickle_reader *reader)
{
    pickle_drop(reader, reader->stack_count);
    for (size_t i = 0; i < reader->memo_count; i++) {
        json_decref(reader->memo[i].value);
    }
    for (size_t i = 0; i < reader->container_count; i++) {
        json_decref(reader->containers[i].value);
    }
    json_decref(reader->empty_list);
    json_decref(reader->empty_dict);
    free(reader->stack);
    free(reader->marks);
    free(reader->memo);
    free(reader->containers);
}

/* --- bytes --- */

enum import_result pickle_take(struct pickle_reader *reader, uint64_t count,
                               const unsigned char **bytes)
{
    if (count > reader->length - reader->at) {
        return pickle_fail(reader, IMPORT_INCOMPLETE,
                           "the file ends inside, after %zu bytes (a cut file?)", reader->length);
    }
    *bytes = (const unsigned char *)reader->text + reader->at;
    reader->at += (size_t)count;
    return IMPORT_OK;
}

enum import_result pickle_take_number(struct pickle_reader *reader, unsigned byte_count,
                                      uint64_t *number)
{
    const unsigned char *bytes = NULL;
    const enum import_result result = pickle_take(reader, byte_count, &bytes);
    if (result != IMPORT_OK) {
        return result;
    }
    *number = 0;
    for (unsigned i = 0; i < byte_count; i++) {
        *number |= (uint64_t)bytes[i] << (8 * i);
    }
    return IMPORT_OK;
}

/* --- the stack --- */

static enum import_result push_slot(struct pickle_reader *reader, struct pickle_slot slot)
{
    if (reader->stack_count == PICKLE_STACK_MAX) {
        json_decref(slot.value);
        return pickle_fail(reader, IMPORT_INVALID, "more than %d values wait on the stack",
                           PICKLE_STACK_MAX);
    }
    reader->stack = array_grown(reader->stack, reader->stack_count, &reader->stack_room,
                                sizeof slot);
    reader->stack[reader->stack_count++] = slot;
    return IMPORT_OK;
}

enum import_result pickle_push(struct pickle_reader *reader, json_t *value)
{
    if (value == NULL) {
        return fail_no_host_memory(reader);
    }
    return push_slot(reader,
                     (struct pickle_slot){.value = value, .container = PICKLE_NO_CONTAINER});
}

enum import_result pickle_push_container(struct pickle_reader *reader, bool is_list)
{
    if (reader->container_count == PICKLE_NO_CONTAINER) {
        return pickle_fail(reader, IMPORT_INVALID, "more than %u containers", PICKLE_NO_CONTAINER);
    }
    reader->containers = array_grown(reader->containers, reader->container_count,
                                     &reader->container_room, sizeof *reader->containers);
    reader->containers[reader->container_count] = (struct pickle_container){.depth = 1,
                                                                            .is_list = is_list};
    return push_slot(reader,
                     (struct pickle_slot){.container = (uint32_t)reader->container_count++});
}

void pickle_drop(struct pickle_reader *reader, size_t count)
{
    for (; count > 0; count--) {
        json_decref(reader->stack[--reader->stack_count].value);
    }
}

size_t pickle_above_mark(const struct pickle_reader *reader)
{
    return reader->stack_count -
           (reader->mark_count == 0 ? 0 : reader->marks[reader->mark_count - 1]);
}

enum import_result pickle_need(struct pickle_reader *reader, size_t count)
{
    if (pickle_above_mark(reader) < count) {
        return pickle_fail(reader, IMPORT_INVALID, "it needs %zu values, but there are %zu", count,
                           pickle_above_mark(reader));
    }
    return IMPORT_OK;
}

enum import_result pickle_mark(struct pickle_reader *reader)
{
    if (reader->mark_count == PICKLE_STACK_MAX) {
        return pickle_fail(reader, IMPORT_INVALID, "more than %d marks", PICKLE_STACK_MAX);
    }
    reader->marks = array_grown(reader->marks, reader->mark_count, &reader->mark_room,
                                sizeof *reader->marks);
    reader->marks[reader->mark_count++] = reader->stack_count;
    return IMPORT_OK;
}

enum import_result pickle_unmark(struct pickle_reader *reader, size_t *count)
{
    if (reader->mark_count == 0) {
        return pickle_fail(reader, IMPORT_INVALID, "there is no mark");
    }
    *count = pickle_above_mark(reader);
    reader->mark_count--;
    return IMPORT_OK;
}

/* --- containers --- */

/* The value of a slot with one reference for the caller. */
static json_t *get_slot_value(const struct pickle_reader *reader, const struct pickle_slot *slot)
{
    if (slot->container == PICKLE_NO_CONTAINER) {
        return json_incref(slot->value);
    }
    const struct pickle_container *container = &reader->containers[slot->container];
    if (container->value != NULL) {
        return json_incref(container->value);
    }
    return json_incref(container->is_list ? reader->empty_list : reader->empty_dict);
}

static unsigned get_slot_depth(const struct pickle_reader *reader, const struct pickle_slot *slot)
{
    return slot->container == PICKLE_NO_CONTAINER ? 0 : reader->containers[slot->container].depth;
}

/* The container below the topmost count values, ready to take them; *container is untouched on
 * failure. */
static enum import_result open_container(struct pickle_reader *reader, size_t count, bool is_list,
                                         struct pickle_container **container)
{
    const enum import_result result = pickle_need(reader, count + 1);
    if (result != IMPORT_OK) {
        return result;
    }
    const struct pickle_slot *slot = &reader->stack[reader->stack_count - count - 1];
    struct pickle_container *found = slot->container == PICKLE_NO_CONTAINER
                                         ? NULL
                                         : &reader->containers[slot->container];
    if (found == NULL || found->is_list != is_list) {
        return pickle_fail(reader, IMPORT_INVALID, "there is no %s below its values",
                           is_list ? "list" : "dict");
    }
    if (found->is_closed) {
        return pickle_fail(
            reader, IMPORT_INVALID,
            "it adds to a %s that is already used elsewhere and could come to contain itself",
            is_list ? "list" : "dict");
    }
    if (found->value == NULL && count > 0) {
        found->value = is_list ? json_array() : json_object();
        if (found->value == NULL) {
            return fail_no_host_memory(reader);
        }
    }
    *container = found;
    return IMPORT_OK;
}

static enum import_result deepen_container(struct pickle_reader *reader,
                                           struct pickle_container *container,
                                           const struct pickle_slot *slot)
{
    const unsigned depth = get_slot_depth(reader, slot) + 1;
    if (depth > PICKLE_DEPTH_MAX) {
        return pickle_fail(reader, IMPORT_INVALID, "containers are nested more than %d deep",
                           PICKLE_DEPTH_MAX);
    }
    container->depth = depth > container->depth ? (uint8_t)depth : container->depth;
    return IMPORT_OK;
}

enum import_result pickle_fill_list(struct pickle_reader *reader, size_t count)
{
    struct pickle_container *container = NULL;
    enum import_result result = open_container(reader, count, true, &container);
    for (size_t i = reader->stack_count - count; result == IMPORT_OK && i < reader->stack_count;
         i++) {
        result = deepen_container(reader, container, &reader->stack[i]);
        if (result != IMPORT_OK) {
            break;
        }
        if (json_array_append_new(container->value, get_slot_value(reader, &reader->stack[i])) !=
            0) {
            result = fail_no_host_memory(reader);
        }
    }
    if (result == IMPORT_OK) {
        pickle_drop(reader, count);
    }
    return result;
}

static enum import_result set_item(struct pickle_reader *reader, struct pickle_container *container,
                                   const struct pickle_slot *key, const struct pickle_slot *value)
{
    if (key->container != PICKLE_NO_CONTAINER || !json_is_string(key->value)) {
        return pickle_fail(reader, IMPORT_INVALID, "a key of a dict is not a text");
    }
    const char *text = json_string_value(key->value);
    if (json_object_get(container->value, text) != NULL) {
        return pickle_fail(reader, IMPORT_INVALID, "the key '%.40s' is given twice", text);
    }
    const enum import_result result = deepen_container(reader, container, value);
    if (result == IMPORT_OK &&
        json_object_set_new(container->value, text, get_slot_value(reader, value)) != 0) {
        return fail_no_host_memory(reader);
    }
    return result;
}

enum import_result pickle_fill_dict(struct pickle_reader *reader, size_t count)
{
    struct pickle_container *container = NULL;
    if (count % 2 != 0) {
        return pickle_fail(reader, IMPORT_INVALID, "a key without a value");
    }
    enum import_result result = open_container(reader, count, false, &container);
    for (size_t i = reader->stack_count - count; result == IMPORT_OK && i < reader->stack_count;
         i += 2) {
        result = set_item(reader, container, &reader->stack[i], &reader->stack[i + 1]);
    }
    if (result == IMPORT_OK) {
        pickle_drop(reader, count);
    }
    return result;
}

enum import_result pickle_gather(struct pickle_reader *reader, size_t count, bool is_list)
{
    enum import_result result = pickle_need(reader, count);
    if (result == IMPORT_OK) {
        result = pickle_push_container(reader, is_list);
    }
    if (result != IMPORT_OK) {
        return result;
    }
    /* The container goes below its values. */
    struct pickle_slot *values = &reader->stack[reader->stack_count - 1 - count];
    const struct pickle_slot container = values[count];
    memmove(values + 1, values, count * sizeof *values);
    values[0] = container;
    result = is_list ? pickle_fill_list(reader, count) : pickle_fill_dict(reader, count);
    reader->containers[container.container].is_closed = true;
    return result;
}

/* --- the memo --- */

enum import_result pickle_memo_put(struct pickle_reader *reader, uint64_t index)
{
    const enum import_result result = pickle_need(reader, 1);
    if (result != IMPORT_OK) {
        return result;
    }
    if (index > reader->memo_count) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "it sets memo %" PRIu64 ", but the next one is %zu", index,
                           reader->memo_count);
    }
    const struct pickle_slot *top = &reader->stack[reader->stack_count - 1];
    if (index == reader->memo_count) {
        reader->memo = array_grown(reader->memo, reader->memo_count, &reader->memo_room,
                                   sizeof *top);
        reader->memo[reader->memo_count++] = (struct pickle_slot){.container = PICKLE_NO_CONTAINER};
    }
    json_decref(reader->memo[index].value);
    reader->memo[index] = (struct pickle_slot){.value = json_incref(top->value),
                                               .container = top->container};
    return IMPORT_OK;
}

enum import_result pickle_memo_get(struct pickle_reader *reader, uint64_t index)
{
    if (index >= reader->memo_count) {
        return pickle_fail(reader, IMPORT_INVALID,
                           "it reads memo %" PRIu64 ", but there are only %zu", index,
                           reader->memo_count);
    }
    const struct pickle_slot *kept = &reader->memo[index];
    if (kept->container != PICKLE_NO_CONTAINER) {
        reader->containers[kept->container].is_closed = true;
    }
    return push_slot(reader, (struct pickle_slot){.value = json_incref(kept->value),
                                                  .container = kept->container});
}

json_t *pickle_top(const struct pickle_reader *reader)
{
    return get_slot_value(reader, &reader->stack[reader->stack_count - 1]);
}
