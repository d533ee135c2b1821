/* Places in the code that asked for memory: the user's frame as a name, and all frames as a stack.
 */
#include "formats/common/cursor.h"
#include "formats/torch/private/torch.h"
#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAME_COUNT_MAX = 512, /* of a stack that are looked at; the deepest seen has 150 */
    TEXT_BYTES_MAX = 1024, /* of a frame's texts that are looked at: a pickle may share long ones */
};

/* Whose code a frame is. */
enum frame_owner { OWNER_NOBODY = 1, OWNER_TORCH, OWNER_USER };

static uint32_t *find_known(struct torch_known *known, const struct plain_tree *tree,
                            struct plain_value box)
{
    if (known->known == NULL) {
        known->count = tree->box_count;
        known->known = calloc(known->count, sizeof *known->known);
        CHECK(known->known != NULL);
    }
    CHECK(known->count == tree->box_count);
    return &known->known[box.payload];
}

/* A text of a frame; "" where there is none. */
static struct text_part get_text(const struct plain_tree *tree, struct plain_value frame,
                                 const char *key)
{
    const struct plain_text *text = plain_text(tree, plain_get(tree, frame, key));
    return text != NULL ? (struct text_part){text->at, text->length} : (struct text_part){"", 0};
}

/* Bytes of it that are looked at. */
static size_t count_seen(const struct text_part *text)
{
    return text->length < TEXT_BYTES_MAX ? text->length : TEXT_BYTES_MAX;
}

static bool has_prefix(const struct text_part *text, const char *begin)
{
    return text->length >= strlen(begin) && memcmp(text->at, begin, strlen(begin)) == 0;
}

static bool has_suffix(const struct text_part *text, const char *end)
{
    return text->length >= strlen(end) &&
           memcmp(text->at + text->length - strlen(end), end, strlen(end)) == 0;
}

/* Files, and what notebooks and -c call their sources; not what is generated inside of Python or of
 * torch. */
static bool is_python(const struct text_part *file)
{
    return has_prefix(file, "<")
               ? !has_prefix(file, "<frozen") && !has_prefix(file, "<eval_with_key")
               : has_suffix(file, ".py");
}

static bool is_separator(char letter)
{
    return letter == '/' || letter == '\\';
}

/* True if the file is one of torch's own sources: in "site-packages/torch/", or in what
 * distributions and checkouts call it. */
static bool is_torch(const struct text_part *file)
{
    static const char *const folders[] = {"site-packages", "dist-packages", "pytorch"};
    const char *end = file->at + count_seen(file);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const size_t length = strlen(folders[i]);
        for (const char *at = file->at;
             (at = memmem(at, (size_t)(end - at), folders[i], length)) != NULL;) {
            at += length;
            if (end - at > 6 && is_separator(at[0]) && memcmp(at + 1, "torch", 5) == 0 &&
                is_separator(at[6])) {
                return true;
            }
        }
    }
    return false;
}

/* Frames are shared by many stacks. */
static enum frame_owner look_up_owner(struct torch_names *names, const struct plain_tree *tree,
                                      struct plain_value frame)
{
    if (frame.kind != PLAIN_DICT) {
        return OWNER_NOBODY;
    }
    uint32_t *known = find_known(&names->known, tree, frame);
    if (*known == 0) {
        const struct text_part file = get_text(tree, frame, "filename");
        *known = !is_python(&file) ? OWNER_NOBODY : is_torch(&file) ? OWNER_TORCH : OWNER_USER;
    }
    return (enum frame_owner) * known;
}

/* The innermost frame of the user's own code, else of torch's own Python code, else nothing. */
static struct plain_value choose_frame(struct torch_names *names, const struct plain_tree *tree,
                                       struct plain_value frames)
{
    struct plain_value of_torch = plain_make(PLAIN_NOTHING);
    const size_t count = plain_count(tree, frames);
    for (size_t i = 0; i < count && i < FRAME_COUNT_MAX; i++) {
        const struct plain_value frame = plain_at(tree, frames, i);
        const enum frame_owner owner = look_up_owner(names, tree, frame);
        if (owner == OWNER_USER) {
            return frame;
        }
        if (owner == OWNER_TORCH && of_torch.kind == PLAIN_NOTHING) {
            of_torch = frame;
        }
    }
    return of_torch;
}

static int first_bytes(size_t length)
{
    return length < SETUP_NAME_BYTES ? (int)length : SETUP_NAME_BYTES;
}

/* "file:line function", cut to its room; "function" where there is no file, or it is "??", as of
 * frames of C++. */
static void print_frame(const struct plain_tree *tree, struct plain_value frame,
                        char text[SETUP_NAME_BYTES])
{
    if (frame.kind == PLAIN_NOTHING) {
        snprintf(text, SETUP_NAME_BYTES, "no Python frame");
        return;
    }
    const struct text_part file = get_text(tree, frame, "filename");
    const struct text_part function = get_text(tree, frame, "name");
    const size_t looked_at = count_seen(&file);
    const char *end = file.at + file.length;
    const char *name = end;
    while (name > end - looked_at && !is_separator(name[-1])) {
        name--;
    }
    if (looked_at == 0 || (file.length == 2 && memcmp(file.at, "??", 2) == 0)) {
        snprintf(text, SETUP_NAME_BYTES, "%.*s", first_bytes(function.length), function.at);
        return;
    }
    char line[SIZE_TEXT_BYTES] = "";
    char whole[2 * SETUP_NAME_BYTES + SIZE_TEXT_BYTES + 2];
    const struct plain_value number = plain_get(tree, frame, "line");
    if (!plain_is_negative(number) && plain_number(tree, number) <= INT32_MAX) {
        snprintf(line, sizeof line, ":%" PRIu64, plain_number(tree, number)); /* else it is none */
    }
    snprintf(whole, sizeof whole, "%.*s%s %.*s", first_bytes((size_t)(end - name)), name, line,
             first_bytes(function.length), function.at);
    snprintf(text, SETUP_NAME_BYTES, "%.*s", SETUP_NAME_BYTES - 1, whole);
}

/* True for CPython's C interface: "PyMethod_New", "_PyEval_Vector".  Names of C++ have arguments or
 * a "::". */
static bool is_interpreter(const struct text_part *function)
{
    return (has_prefix(function, "Py") || has_prefix(function, "_Py")) &&
           function->length < SETUP_NAME_BYTES &&
           memchr(function->at, '_', function->length) != NULL &&
           memchr(function->at, ':', function->length) == NULL &&
           memchr(function->at, '(', function->length) == NULL;
}

/* True for a frame of C or C++ that only shows the way through the interpreter, the dispatcher or
 * the unwinder.  PyTorch's own viewer leaves such frames out (torch/cuda/_memory_viz.py,
 * _frame_filter).  All of CPython's C interface counts, too: an unwinder without symbols guesses
 * its names. */
static bool is_plumbing(const struct plain_tree *tree, struct plain_value frame)
{
    static const char *const functions[] = {"unwind::unwind",  "CapturedTraceback::gather",
                                            "gather_with_cpp", "_start",
                                            "__libc_",         NULL};
    static const char *const files[] = {"core/boxing",
                                        "/Register",
                                        "/Redispatch",
                                        "pythonrun.c",
                                        "Modules/main.c",
                                        "Objects/call.c",
                                        "Objects/methodobject.c",
                                        "pycore_ceval.h",
                                        "ceval.c",
                                        "cpython/abstract.h",
                                        NULL};
    const struct text_part file = get_text(tree, frame, "filename");
    const struct text_part function = get_text(tree, frame, "name");
    return !is_python(&file) && (is_interpreter(&function) ||
                                 text_has_any(function.at, count_seen(&function), functions) ||
                                 text_has_any(file.at, count_seen(&file), files));
}

uint32_t torch_name_of(struct torch_names *names, const struct plain_tree *tree,
                       struct plain_value frames)
{
    if (frames.kind != PLAIN_LIST || plain_count(tree, frames) == 0) {
        return TORCH_NO_NAME;
    }
    uint32_t *known = find_known(&names->known, tree, frames);
    if (*known == 0) {
        char text[SETUP_NAME_BYTES];
        print_frame(tree, choose_frame(names, tree, frames), text);
        *known = 1 + name_table_add(&names->table, text, strlen(text));
    }
    return *known - 1;
}

void torch_name_count(struct torch_names *names, uint32_t name, uint64_t bytes)
{
    if (name != TORCH_NO_NAME) {
        name_table_weigh(&names->table, name, bytes);
    }
}

const char *torch_name_text(const struct torch_names *names, uint32_t name)
{
    return name == TORCH_NO_NAME ? "" : names->table.names[name].text;
}

uint8_t torch_name_tag(const uint8_t *tags, uint32_t name)
{
    return name == TORCH_NO_NAME || tags == NULL ? 0 : tags[name];
}

/* --- stacks: what many events share is looked at once --- */

/* TORCH_NO_FRAME: it is left out. */
static uint32_t number_frame(struct torch_stacks *stacks, const struct plain_tree *tree,
                             struct plain_value frame)
{
    if (frame.kind != PLAIN_DICT) {
        return TORCH_NO_FRAME;
    }
    uint32_t *known = find_known(&stacks->known, tree, frame);
    if (*known == 0) {
        char text[SETUP_NAME_BYTES];
        print_frame(tree, frame, text);
        *known = is_plumbing(tree, frame) ? TORCH_NO_FRAME
                                          : 1 + stacks_frame(stacks->stacks, text, strlen(text));
    }
    return *known == TORCH_NO_FRAME ? TORCH_NO_FRAME : *known - 1;
}

uint32_t torch_stack_of(struct torch_stacks *stacks, const struct plain_tree *tree,
                        struct plain_value frames)
{
    const size_t all = plain_count(tree, frames);
    if (stacks->stacks == NULL || frames.kind != PLAIN_LIST || all == 0) {
        return STACKS_NONE;
    }
    uint32_t *known = find_known(&stacks->known, tree, frames);
    if (*known != 0) {
        return *known - 1;
    }
    uint32_t numbers[STACKS_DEPTH_MAX];
    size_t count = 0;
    bool has_more = all > FRAME_COUNT_MAX;
    for (size_t i = 0; i < all && i < FRAME_COUNT_MAX; i++) {
        const uint32_t number = number_frame(stacks, tree, plain_at(tree, frames, i));
        if (number != TORCH_NO_FRAME && count == STACKS_DEPTH_MAX) {
            has_more = true;
            break;
        }
        if (number != TORCH_NO_FRAME) {
            numbers[count++] = number;
        }
    }
    *known = 1 + stacks_add(stacks->stacks, numbers, count, has_more);
    return *known - 1;
}
