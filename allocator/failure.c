#include "allocator/private/state.h"

#include "allocator/private/heap.h"

/* The last failure of each thread, and the device it was on. */
static _Thread_local struct hbm_failure last_failure;
static _Thread_local const struct hbm *last_device;

/* The text written so far; what does not fit is left out.  Printf would be dearer than the failing
 * call itself. */
struct failure_text {
    char *start, *at, *end; /* end: where the final NUL goes at the latest */
};

static struct failure_text begin_text(char *start, size_t capacity)
{
    HBM_CHECK(start != NULL);
    HBM_CHECK(capacity != 0);
    *start = '\0';
    return (struct failure_text){start, start, start + capacity - 1};
}

static void add_text(struct failure_text *text, const char *piece)
{
    HBM_CHECK(text->at <= text->end);
    while (*piece != '\0' && text->at < text->end) {
        *text->at++ = *piece++;
    }
    HBM_CHECK(text->at <= text->end);
    *text->at = '\0';
}

static void add_number(struct failure_text *text, uint64_t number)
{
    char digits[21];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    add_text(text, first);
    HBM_CHECK(first >= digits);
}

/* Hundredths of 1024ths, rounded as printf does, half to even: both are exact.  Tenths where the
 * unit is K. */
static void add_size(struct failure_text *text, uint64_t bytes)
{
    static const char units[][2] = {"K", "M", "G", "T", "P", "E"};
    unsigned unit = 0;
    if (bytes < 1024) {
        add_number(text, bytes);
        add_text(text, "B");
        return;
    }
    for (; bytes >= 1024 * 1024; unit++) {
        bytes /= 1024;
    }
    HBM_CHECK(unit < sizeof units / sizeof units[0]);
    const uint64_t scale = unit == 0 ? 10 : 100;
    uint64_t number = bytes * scale / 1024, rest = bytes * scale % 1024;
    number += rest > 512 || (rest == 512 && (number & 1) != 0);
    add_number(text, number / scale);
    add_text(text, ".");
    if (scale == 100) {
        add_number(text, number % 100 / 10);
    }
    add_number(text, number % 10);
    add_text(text, units[unit]);
    HBM_CHECK(number / scale <= 1024);
}

char *hbm_size_print(int64_t bytes, char *text, size_t capacity)
{
    if (capacity == 0) {
        return text;
    }
    struct failure_text out = begin_text(text, capacity);
    add_text(&out, bytes < 0 ? "-" : "");
    add_size(&out, bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes);
    return text;
}

static void add_head(const struct hbm *hbm, const struct hbm_failure *failure,
                     struct failure_text *text, const char *name)
{
    const bool buffer = failure->form == HBM_FAILURE_BUFFER;
    add_text(text, "RESOURCE_EXHAUSTED: ");
    if (hbm->options.code_shown) {
        add_text(text, buffer ? "E0100: RuntimeBufferAllocationFailure:\n"
                              : "E0101: RuntimeProgramAllocationFailure:\n");
    }
    add_text(text, buffer ? "Error allocating device buffer" : "Error loading program");
    if (!buffer && name != NULL && name[0] != '\0') {
        add_text(text, " '");
        add_text(text, name);
        add_text(text, "'");
    }
    add_text(text, ": ");
}

static void add_coordinate(const struct hbm_coordinate *at, struct failure_text *text)
{
    add_text(text, "; (");
    add_number(text, at->x);
    add_text(text, "x");
    add_number(text, at->y);
    add_text(text, "x");
    add_number(text, at->z);
    add_text(text, "_HBM");
    add_number(text, at->n);
    add_text(text, ")");
}

static void add_allocation(const struct hbm *hbm, const struct hbm_failure *failure,
                           struct failure_text *text)
{
    add_text(text, "Attempting to allocate ");
    add_size(text, failure->requested_bytes);
    add_text(text, ". That was not possible. There are ");
    add_size(text, failure->free_bytes);
    add_text(text, " free.");
    if (failure->fragmentation_shown) {
        add_text(text, " Due to fragmentation, the largest contiguous region of free memory is ");
        add_size(text, failure->largest_bytes);
        add_text(text, ".");
    }
    if (hbm->options.coordinate.shown) {
        add_coordinate(&hbm->options.coordinate, text);
    }
}

static void add_reservation(const struct hbm_failure *failure, struct failure_text *text)
{
    add_text(text, "Attempting to reserve ");
    add_size(text, failure->requested_bytes);
    add_text(text, " at the bottom of memory. That was not possible. There are ");
    add_size(text, failure->free_bytes);
    add_text(text, " free, ");
    add_size(text, failure->reserved_bytes);
    add_text(text, " reserved, and ");
    add_size(text, failure->reservable_bytes);
    add_text(text, " reservable.");
}

enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form,
                                uint64_t requested_bytes, const char *name)
{
    struct hbm_failure *failure = &last_failure;
    struct failure_text text = begin_text(failure->text, sizeof failure->text);
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
        add_reservation(failure, &text);
    } else {
        add_allocation(hbm, failure, &text);
    }
    if (hbm->options.log_allocations_on_oom) {
        hbm_report_print_locked(hbm, &hbm->options.sink);
    }
    return HBM_NO_MEMORY;
}

static void set_failure_text(const struct hbm *hbm, enum hbm_failure_form form, const char *head,
                             const char *sentence)
{
    last_failure = (struct hbm_failure){.form = form};
    last_device = hbm;
    struct failure_text text = begin_text(last_failure.text, sizeof last_failure.text);
    add_text(&text, head);
    add_text(&text, sentence);
    add_text(&text, ".");
}

enum hbm_result hbm_fail_invalid(const struct hbm *hbm, const char *text)
{
    set_failure_text(hbm, HBM_FAILURE_INVALID, "INVALID_ARGUMENT: ", text);
    return HBM_INVALID;
}

enum hbm_result hbm_fail_unavailable(const struct hbm *hbm, const char *text)
{
    set_failure_text(hbm, HBM_FAILURE_UNAVAILABLE, "UNAVAILABLE: ", text);
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
