#include <inttypes.h>
#include <stdio.h>

#include "allocator/state.h"

/* The last failure of each thread, and the device it was on. */
static _Thread_local struct hbm_failure last_failure;
static _Thread_local const struct hbm *last_device;

char *hbm_size_print(int64_t bytes, char *text, size_t capacity)
{
    static const char units[] = "KMGTPE";
    const char *sign = bytes < 0 ? "-" : "";
    uint64_t magnitude = bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
    if (magnitude < 1024) {
        (void)snprintf(text, capacity, "%s%" PRIu64 "B", sign, magnitude);
        return text;
    }
    const char *unit = units;
    for (; magnitude >= 1024 * 1024; unit++)
        magnitude /= 1024;
    (void)snprintf(text, capacity, "%s%.*f%c", sign, unit == units ? 1 : 2, (double)magnitude / 1024.0, *unit);
    return text;
}

/* Sizes up to 2^63 are printed through the signed form; 2^63 itself is the one that it cannot hold. */
static char *size_text(uint64_t bytes, char *text)
{
    return hbm_size_print(bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, text, HBM_SIZE_TEXT_BYTES);
}

/* Appends to the text as far as it has room. */
static void text_add(struct hbm_failure *failure, size_t *used, const char *piece)
{
    while (*piece != '\0' && *used + 1 < sizeof failure->text)
        failure->text[(*used)++] = *piece++;
    failure->text[*used] = '\0';
}

static void head_add(const struct hbm *hbm, struct hbm_failure *failure, size_t *used, const char *name)
{
    bool buffer = failure->form == HBM_FAILURE_BUFFER;
    text_add(failure, used, "RESOURCE_EXHAUSTED: ");
    if (hbm->options.code_shown)
        text_add(failure, used, buffer ? "E0100: RuntimeBufferAllocationFailure:\n"
                                       : "E0101: RuntimeProgramAllocationFailure:\n");
    text_add(failure, used, buffer ? "Error allocating device buffer" : "Error loading program");
    if (!buffer && name != NULL && name[0] != '\0') {
        text_add(failure, used, " '");
        text_add(failure, used, name);
        text_add(failure, used, "'");
    }
    text_add(failure, used, ": ");
}

static void allocate_add(const struct hbm *hbm, struct hbm_failure *failure, size_t *used)
{
    char requested[HBM_SIZE_TEXT_BYTES], free_text[HBM_SIZE_TEXT_BYTES], largest[HBM_SIZE_TEXT_BYTES], line[160];
    (void)snprintf(line, sizeof line, "Attempting to allocate %s. That was not possible. There are %s free.",
                   size_text(failure->requested_bytes, requested), size_text(failure->free_bytes, free_text));
    text_add(failure, used, line);
    if (failure->fragmentation_shown) {
        (void)snprintf(line, sizeof line, " Due to fragmentation, the largest contiguous region of free memory is %s.",
                       size_text(failure->largest_bytes, largest));
        text_add(failure, used, line);
    }
    const struct hbm_coordinate *at = &hbm->options.coordinate;
    if (at->shown) {
        (void)snprintf(line, sizeof line, "; (%" PRIu32 "x%" PRIu32 "x%" PRIu32 "_HBM%" PRIu32 ")", at->x, at->y,
                       at->z, at->n);
        text_add(failure, used, line);
    }
}

static void reserve_add(struct hbm_failure *failure, size_t *used)
{
    char requested[HBM_SIZE_TEXT_BYTES], free_text[HBM_SIZE_TEXT_BYTES], line[256];
    char reserved[HBM_SIZE_TEXT_BYTES], reservable[HBM_SIZE_TEXT_BYTES];
    (void)snprintf(line, sizeof line,
                   "Attempting to reserve %s at the bottom of memory. That was not possible. There are %s free, "
                   "%s reserved, and %s reservable.",
                   size_text(failure->requested_bytes, requested), size_text(failure->free_bytes, free_text),
                   size_text(failure->reserved_bytes, reserved), size_text(failure->reservable_bytes, reservable));
    text_add(failure, used, line);
}

enum hbm_result hbm_fail_memory(struct hbm *hbm, enum hbm_failure_form form, uint64_t requested_bytes, const char *name)
{
    struct hbm_failure *failure = &last_failure;
    size_t used = 0;
    *failure = (struct hbm_failure){
        .form = form,
        .requested_bytes = requested_bytes,
        .free_bytes = hbm_free_bytes(hbm),
        .reserved_bytes = hbm_heap_reserved(&hbm->heap),
        .reservable_bytes = hbm_reservable(hbm),
        .largest_bytes = hbm_heap_largest(&hbm->heap),
    };
    failure->fragmentation_shown = form != HBM_FAILURE_PROGRAM_STACK && hbm->options.defrag == HBM_DEFRAG_NONE &&
                                   failure->free_bytes >= requested_bytes;
    last_device = hbm;
    head_add(hbm, failure, &used, name);
    if (form == HBM_FAILURE_PROGRAM_STACK)
        reserve_add(failure, &used);
    else
        allocate_add(hbm, failure, &used);
    if (hbm->options.log_allocations_on_oom)
        hbm_report_print_locked(hbm, &hbm->options.sink);
    return HBM_NO_MEMORY;
}

static void fail_text(const struct hbm *hbm, enum hbm_failure_form form, const char *head, const char *text)
{
    size_t used = 0;
    last_failure = (struct hbm_failure){.form = form};
    last_device = hbm;
    text_add(&last_failure, &used, head);
    text_add(&last_failure, &used, text);
    text_add(&last_failure, &used, ".");
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
