#include "formats/torch/private/torch.h"

#include "harness/base/array.h"
#include "harness/base/size.h"

#include <stdio.h>
#include <string.h>

enum {
    FRAME_COUNT_MAX = 512, /* of a stack that are looked at; the deepest seen has 150 */
    TEXT_BYTES_MAX = 1024, /* of a frame's texts that are looked at: a pickle may share long ones */
    STACK_ROOM_MIN = 64
};

/* A list of frames whose name is known. */
struct torch_stack {
    const json_t *frames; /* NULL: the place in the table is free */
    uint32_t name;
};

void torch_names_init(struct torch_names *names)
{
    *names = (struct torch_names){.index = json_object()};
    CHECK(names->index != NULL);
}

void torch_names_deinit(struct torch_names *names)
{
    json_decref(names->index);
    free(names->names);
    free(names->stacks);
}

/* A text of a frame, not copied; "" where there is none. */
struct text {
    const char *at;
    size_t length;
};

static struct text get_text(const json_t *frame, const char *key)
{
    const json_t *value = json_object_get(frame, key);
    return json_is_string(value)
               ? (struct text){json_string_value(value), json_string_length(value)}
               : (struct text){"", 0};
}

static bool has_prefix(const struct text *text, const char *begin)
{
    return strncmp(text->at, begin, strlen(begin)) == 0; /* a NUL stands behind */
}

static bool has_suffix(const struct text *text, const char *end)
{
    return text->length >= strlen(end) && strcmp(text->at + text->length - strlen(end), end) == 0;
}

/* Files, and what notebooks and -c call their sources; not what is generated inside of Python or of
 * torch. */
static bool is_python(const struct text *file)
{
    if (file->at[0] == '<') {
        return !has_prefix(file, "<frozen") && !has_prefix(file, "<eval_with_key");
    }
    return has_suffix(file, ".py");
}

static bool is_separator(char letter)
{
    return letter == '/' || letter == '\\';
}

/* Whether torch's own sources are there: "site-packages/torch/", and what distributions and
 * checkouts call it. */
static bool is_torch(const struct text *file)
{
    static const char *const folders[] = {"site-packages", "dist-packages", "pytorch"};
    const char *end = file->at + (file->length < TEXT_BYTES_MAX ? file->length : TEXT_BYTES_MAX);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i]);
        for (const char *at = file->at;
             (at = memmem(at, (size_t)(end - at), folders[i], length)) != NULL;) {
            at += length;
            if (is_separator(at[0]) && strncmp(at + 1, "torch", 5) == 0 && is_separator(at[6])) {
                return true;
            }
        }
    }
    return false;
}

/* The innermost frame of the user's own code, else of torch's own Python code, else NULL. */
static const json_t *choose_frame(const json_t *frames)
{
    const json_t *of_torch = NULL;
    const size_t count = json_array_size(frames);
    for (size_t i = 0; i < count && i < FRAME_COUNT_MAX; i++) {
        const json_t *frame = json_array_get(frames, i);
        const struct text file = get_text(frame, "filename");
        if (!is_python(&file)) {
            continue;
        }
        if (!is_torch(&file)) {
            return frame;
        }
        of_torch = of_torch == NULL ? frame : of_torch;
    }
    return of_torch;
}

static void print_frame(const json_t *frame, char text[SETUP_NAME_BYTES])
{
    if (frame == NULL) {
        snprintf(text, SETUP_NAME_BYTES, "no Python frame");
        return;
    }
    const struct text file = get_text(frame, "filename");
    const size_t looked_at = file.length < TEXT_BYTES_MAX ? file.length : TEXT_BYTES_MAX;
    const char *name = file.at + file.length;
    while (name > file.at + file.length - looked_at && !is_separator(name[-1])) {
        name--;
    }
    char whole[2 * SETUP_NAME_BYTES + SIZE_TEXT_BYTES];
    snprintf(whole, sizeof whole, "%.*s:%" JSON_INTEGER_FORMAT " %.*s", SETUP_NAME_BYTES, name,
             json_integer_value(json_object_get(frame, "line")), SETUP_NAME_BYTES,
             get_text(frame, "name").at);
    snprintf(text, SETUP_NAME_BYTES, "%.*s", SETUP_NAME_BYTES - 1, whole);
}

/* Where the list stands, or belongs.  Its address decides the place, and so nothing but time: by a
 * list of which another one says the same, the same is found. */
static struct torch_stack *find_stack(const struct torch_stack *stacks, size_t room,
                                      const json_t *frames)
{
    const uint64_t hash = (uint64_t)(uintptr_t)frames * UINT64_C(0x9E3779B97F4A7C15);
    size_t place = (size_t)(hash >> 32) & (room - 1);
    while (stacks[place].frames != NULL && stacks[place].frames != frames) {
        place = (place + 1) & (room - 1);
    }
    return (struct torch_stack *)&stacks[place];
}

/* Makes room for one more. */
static void grow_stacks(struct torch_names *names)
{
    if (names->stack_count < names->stack_room / 2) {
        return;
    }
    const size_t room = names->stack_room == 0 ? STACK_ROOM_MIN : names->stack_room * 2;
    struct torch_stack *stacks = calloc(room, sizeof *stacks);
    CHECK(stacks != NULL);
    for (size_t i = 0; i < names->stack_room; i++) {
        if (names->stacks[i].frames != NULL) {
            *find_stack(stacks, room, names->stacks[i].frames) = names->stacks[i];
        }
    }
    free(names->stacks);
    names->stacks = stacks;
    names->stack_room = room;
}

static uint32_t name_by_frames(struct torch_names *names, const json_t *frames)
{
    struct torch_name name = {.number = (uint32_t)names->count};
    print_frame(choose_frame(frames), name.text);
    const json_t *known = json_object_get(names->index, name.text);
    if (known != NULL) {
        return (uint32_t)json_integer_value(known);
    }
    names->names = array_grown(names->names, names->count, &names->room, sizeof name);
    names->names[names->count++] = name;
    /* Cutting a name to its length may have cut a character in two, which is no matter here. */
    CHECK(json_object_set_new_nocheck(names->index, name.text,
                                      json_integer((json_int_t)name.number)) == 0);
    return name.number;
}

uint32_t torch_name_of(struct torch_names *names, const json_t *frames)
{
    if (json_array_size(frames) == 0) {
        return TORCH_NO_NAME;
    }
    grow_stacks(names);
    struct torch_stack *stack = find_stack(names->stacks, names->stack_room, frames);
    if (stack->frames == NULL) {
        *stack = (struct torch_stack){.frames = frames, .name = name_by_frames(names, frames)};
        names->stack_count++;
    }
    return stack->name;
}

void torch_name_count(struct torch_names *names, uint32_t name, uint64_t bytes)
{
    if (name != TORCH_NO_NAME &&
        __builtin_add_overflow(names->names[name].bytes, bytes, &names->names[name].bytes)) {
        names->names[name].bytes = UINT64_MAX;
    }
}

/* A total order: numbers break ties. */
static int compare_names(const void *a, const void *b)
{
    const struct torch_name *x = *(const struct torch_name *const *)a;
    const struct torch_name *y = *(const struct torch_name *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

const struct torch_name **torch_names_by_bytes(const struct torch_names *names)
{
    if (names->count == 0) {
        return NULL;
    }
    const struct torch_name **order = array_resized(NULL, names->count *
                                                              sizeof(const struct torch_name *));
    for (size_t i = 0; i < names->count; i++) {
        order[i] = &names->names[i];
    }
    qsort(order, names->count, sizeof(const struct torch_name *), compare_names);
    return order;
}

uint8_t torch_name_tag(const uint8_t *tags, uint32_t name)
{
    return name == TORCH_NO_NAME || tags == NULL ? 0 : tags[name];
}
