#include "allocator/private/failure.h"

#include "allocator/private/check.h"
#include "allocator/private/counters.h"
#include "allocator/private/heap.h"
#include "allocator/private/report_lines.h"

/* The last failure of each thread, and the device it was on. */
static _Thread_local struct hbm_failure last_failure;
static _Thread_local const struct hbm *last_device;

/* What is written so far; what does not fit is left out.  Printf would be dearer than the failing
 * call itself. */
struct text {
    char *start, *at, *end; /* end: where the final NUL goes at the latest */
};

static struct text text_begin(char *start, size_t capacity)
{
    *start = '\0';
    return (struct text){start, start, start + capacity - 1};
}

static void text_add(struct text *text, const char *piece)
{
    while (*piece != '\0' && text->at < text->end) {
        *text->at++ = *piece++;
    }
    *text->at = '\0';
}

static void text_add_number(struct text *text, uint64_t number)
{
    char digits[21];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    text_add(text, first);
}

/* Hundredths of 1024ths, rounded as printf does, half to even: both are exact.  Tenths where the
 * unit is K. */
static void text_add_size(struct text *text, uint64_t bytes)
{
    static const char units[][2] = {"K", "M", "G", "T", "P", "E"};
    unsigned unit = 0;
    if (bytes < 1024) {
        text_add_number(text, bytes);
        text_add(text, "B");
        return;
    }
    for (; bytes >= 1024 * 1024; unit++) {
        bytes /= 1024;
    }
    uint64_t scale = unit == 0 ? 10 : 100;
    uint64_t number = bytes * scale / 1024, rest = bytes * scale % 1024;
    number += rest > 512 || (rest == 512 && (number & 1) != 0);
    text_add_number(text, number / scale);
    text_add(text, ".");
    if (scale == 100) {
        text_add_number(text, number % 100 / 10);
    }
    text_add_number(text, number % 10);
    text_add(text, units[unit]);
}

char *hbm_size_print(int64_t bytes, char *text, size_t capacity)
{
    if (capacity == 0) {
        return text;
    }
    struct text out = text_begin(text, capacity);
    text_add(&out, bytes < 0 ? "-" : "");
    text_add_size(&out, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    return text;
}

static void add_head(const struct hbm *hbm, const struct hbm_failure *failure, struct text *text,
                     const char *name)
{
    bool buffer = failure->form == HBM_FAILURE_BUFFER;
    text_add(text, "RESOURCE_EXHAUSTED: ");
    if (hbm->options.code_shown) {
        text_add(text, buffer ? "E0100: RuntimeBufferAllocationFailure:\n"
                              : "E0101: RuntimeProgramAllocationFailure:\n");
    }
    text_add(text, buffer ? "Error allocating device buffer" : "Error loading program");
    if (!buffer && name != NULL && name[0] != '\0') {
        text_add(text, " '");
        text_add(text, name);
        text_add(text, "'");
    }
    text_add(text, ": ");
}

static void add_coordinate(const struct hbm_coordinate *at, struct text *text)
{
    text_add(text, "; (");
    text_add_number(text, at->x);
    text_add(text, "x");
    text_add_number(text, at->y);
    text_add(text, "x");
    text_add_number(text, at->z);
    text_add(text, "_HBM");
    text_add_number(text, at->n);
    text_add(text, ")");
}

static void add_allocate(const struct hbm *hbm, const struct hbm_failure *failure,
                         struct text *text)
{
    text_add(text, "Attempting to allocate ");
    text_add_size(text, failure->requested_bytes);
    text_add(text, ". That was not possible. There are ");
    text_add_size(text, failure->free_bytes);
    text_add(text, " free.");
    if (failure->fragmentation_shown) {
        text_add(text, " Due to fragmentation, the largest contiguous region of free memory is ");
        text_add_size(text, failure->largest_bytes);
        text_add(text, ".");
    }
    if (hbm->options.coordinate.shown) {
        add_coordinate(&hbm->options.coordinate, text);
    }
}

static void add_reserve(const struct hbm_failure *failure, struct text *text)
{
    text_add(text, "Attempting to reserve ");
    text_add_size(text, failure->requested_bytes);
    text_add(text, " at the bottom of memory. That was not possible. There are ");
    text_add_size(text, failure->free_bytes);
    text_add(text, " free, ");
    text_add_size(text, failure->reserved_bytes);
    text_add(text, " reserved, and ");
    text_add_size(text, failure->reservable_bytes);
    text_add(text, " reservable.");
}

enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form,
                                uint64_t requested_bytes, const char *name)
{
    struct hbm_failure *failure = &last_failure;
    struct text text = text_begin(failure->text, sizeof failure->text);
    failure->form = form;
    failure->requested_bytes = requested_bytes;
    failure->free_bytes = hbm_free_bytes(hbm);
    failure->reserved_bytes = hbm_heap_reserved(&hbm->heap);
    failure->reservable_bytes = hbm_reservable(hbm);
    failure->largest_bytes = hbm_heap_largest(&hbm->heap);
    failure->fragmentation_shown = form != HBM_FAILURE_PROGRAM_STACK &&
                                   hbm->options.defrag == HBM_DEFRAG_NONE &&
                                   failure->free_bytes >= requested_bytes;
    last_device = hbm;
    add_head(hbm, failure, &text, name);
    if (form == HBM_FAILURE_PROGRAM_STACK) {
        add_reserve(failure, &text);
    } else {
        add_allocate(hbm, failure, &text);
    }
    if (hbm->options.log_allocations_on_oom) {
        hbm_report_print_locked(hbm, &hbm->options.sink);
    }
    return HBM_NO_MEMORY;
}

static void fail_text(const struct hbm *hbm, enum hbm_failure_form form, const char *head,
                      const char *sentence)
{
    last_failure = (struct hbm_failure){.form = form};
    last_device = hbm;
    struct text text = text_begin(last_failure.text, sizeof last_failure.text);
    text_add(&text, head);
    text_add(&text, sentence);
    text_add(&text, ".");
}

enum hbm_result hbm_fail_invalid(const struct hbm *hbm, const char *text)
{
    fail_text(hbm, HBM_FAILURE_INVALID, "INVALID_ARGUMENT: ", text);
    return HBM_INVALID;
}

enum hbm_result hbm_fail_unavailable(const struct hbm *hbm, const char *text)
{
    fail_text(hbm, HBM_FAILURE_UNAVAILABLE, "UNAVAILABLE: ", text);
    return HBM_UNAVAILABLE;
}

const struct hbm_failure *hbm_last_failure(const struct hbm *hbm)
{
    static const struct hbm_failure none = {.form = HBM_FAILURE_NONE};
    return last_device == hbm ? &last_failure : &none;
}

const char *hbm_error(const struct hbm *hbm)
{
    return hbm_last_failure(hbm)->text;
}
