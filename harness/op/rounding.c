#include "harness/op/rounding.h"

#include "harness/base/align.h"
#include "harness/base/size.h"
#include "harness/op/private/ops_words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STEPS_MAX = 64 };
/* No device has more. */
#define SETTING_BYTES_MAX (UINT64_C(1) << 50)

/* --- the function --- */

bool rounding_is_plain(const struct target_rounding *rounding)
{
    return rounding->kind == ROUNDING_GRANULE && rounding->overhead_bytes == 0;
}

static bool is_step_count(uint64_t steps)
{
    return steps > 0 && steps <= STEPS_MAX && (steps & (steps - 1)) == 0;
}

const char *rounding_flaw(const struct target_rounding *rounding)
{
    if (rounding->kind == ROUNDING_ANY) {
        return NULL;
    }
    if (rounding->kind != ROUNDING_GRANULE && rounding->kind != ROUNDING_CLASSES) {
        return "its rounding is of no known kind";
    }
    if (rounding->overhead_bytes > SETTING_BYTES_MAX) {
        return "its rounding has an overhead above 1P";
    }
    if (rounding->kind == ROUNDING_GRANULE) {
        return NULL;
    }
    return !is_step_count(rounding->steps)
               ? "its size classes in each doubling are not a power of two from 1 to 64"
           : rounding->smallest_bytes > SETTING_BYTES_MAX ? "its smallest size class is above 1P"
                                                          : NULL;
}

/* The classes above 2^k, up to and with 2^(k + 1), are `steps` equal ones, or each whole number
 * where there are fewer.  size_bytes: 1..2^63. */
static uint64_t round_to_class(uint64_t size_bytes, uint64_t steps)
{
    if (size_bytes == 1) {
        return 1;
    }
    const uint64_t low = UINT64_C(1) << (63 - __builtin_clzll(size_bytes - 1));
    const uint64_t step = low > steps ? low / steps : 1;
    return low + align_up(size_bytes - low, step);
}

uint64_t rounding_bytes_max(const struct target_rounding *rounding, uint64_t granule_bytes,
                            uint64_t asked_bytes)
{
    uint64_t bytes = asked_bytes;
    if (rounding->kind == ROUNDING_ANY) {
        return UINT64_MAX;
    }
    if (asked_bytes >= ROUNDING_BYTES_MAX) {
        return ROUNDING_BYTES_MAX;
    }
    if (rounding->kind == ROUNDING_CLASSES) {
        bytes = asked_bytes <= rounding->smallest_bytes
                    ? rounding->smallest_bytes
                    : round_to_class(asked_bytes, rounding->steps);
    }
    /* Both are at most 2^63, of which a granule is a divisor. */
    return bytes > ROUNDING_BYTES_MAX - rounding->overhead_bytes
               ? ROUNDING_BYTES_MAX
               : align_up(bytes + rounding->overhead_bytes, granule_bytes);
}

uint64_t rounding_bytes_needed(const struct target_rounding *rounding, uint64_t granule_bytes,
                               uint64_t asked_bytes)
{
    return rounding->kind == ROUNDING_ANY || rounding_is_plain(rounding)
               ? asked_bytes
               : rounding_bytes_max(rounding, granule_bytes, asked_bytes);
}

/* --- as text --- */

static void append_size(char *text, const char *key, uint64_t size_bytes)
{
    char size[SIZE_TEXT_BYTES];
    const size_t used = strlen(text);
    if (size_bytes > 0) {
        size_print(size_bytes, size);
        (void)snprintf(text + used, ROUNDING_TEXT_BYTES - used, " %s=%s", key, size);
    }
}

void rounding_print(const struct target_rounding *rounding, char text[ROUNDING_TEXT_BYTES])
{
    if (rounding->kind == ROUNDING_ANY) {
        (void)snprintf(text, ROUNDING_TEXT_BYTES, "any");
        return;
    }
    if (rounding->kind == ROUNDING_CLASSES) {
        (void)snprintf(text, ROUNDING_TEXT_BYTES, "classes=%" PRIu32, rounding->steps);
        append_size(text, "smallest", rounding->smallest_bytes);
    } else {
        (void)snprintf(text, ROUNDING_TEXT_BYTES, "granule");
    }
    append_size(text, "overhead", rounding->overhead_bytes);
}

/* The reading of one text. */
struct reader {
    const char *text;
    struct target_rounding rounding;
    struct rounding_error *error;
};

static bool fail_at(struct reader *reader, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail_at(struct reader *reader, const char *at, const char *format, ...)
{
    reader->error->at = (size_t)(at - reader->text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reader->error->reason, ROUNDING_REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* True if the part is "KEY=…"; *value is what follows. */
static bool split_part(struct word part, const char *key, struct word *value)
{
    struct word head;
    return word_split(part, '=', &head, value) && word_is(head, key);
}

static unsigned find_nearest_steps(uint64_t steps)
{
    unsigned nearest = 1;
    while (nearest < STEPS_MAX && steps > nearest + nearest / 2) {
        nearest *= 2;
    }
    return nearest;
}

static bool read_steps(struct reader *reader, struct word value)
{
    uint64_t steps = 0;
    if (!number_parse(value.text, value.length, &steps)) {
        return fail_at(reader, value.text,
                       "'%.*s' is no number of classes in each doubling: write classes=8",
                       shown(value), value.text);
    }
    if (!is_step_count(steps)) {
        return fail_at(reader, value.text,
                       "'%.*s' classes in each doubling are not a power of two from 1 to 64; the "
                       "nearest is classes=%u",
                       shown(value), value.text, find_nearest_steps(steps));
    }
    reader->rounding.kind = ROUNDING_CLASSES;
    reader->rounding.steps = (uint32_t)steps;
    return true;
}

static bool read_kind(struct reader *reader, struct word part)
{
    struct word value;
    if (word_is(part, "granule")) {
        reader->rounding.kind = ROUNDING_GRANULE;
        return true;
    }
    if (word_is(part, "any")) {
        reader->rounding.kind = ROUNDING_ANY;
        return true;
    }
    if (split_part(part, "classes", &value)) {
        return read_steps(reader, value);
    }
    const char *nearest = part.length == 0      ? ""
                          : part.text[0] == 'g' ? "; did you mean 'granule'?"
                          : part.text[0] == 'a' ? "; did you mean 'any'?"
                          : part.text[0] == 'c' ? "; did you mean 'classes=8'?"
                                                : "";
    return fail_at(reader, part.text, "'%.*s' is not one of granule, any, classes=N%s", shown(part),
                   part.text, nearest);
}

static bool read_size(struct reader *reader, struct word value, const char *key, uint64_t *size)
{
    uint64_t bytes = 0;
    if (*size != 0) {
        return fail_at(reader, value.text, "'%s=' is given twice", key);
    }
    if (!size_parse(value.text, value.length, &bytes) || bytes == 0 || bytes > SETTING_BYTES_MAX) {
        return fail_at(reader, value.text, "%s=%.*s is not a size from 1 to 1P, such as %s=4K", key,
                       shown(value), value.text, key);
    }
    *size = bytes;
    return true;
}

static bool read_setting(struct reader *reader, struct word part)
{
    struct word value;
    if (reader->rounding.kind == ROUNDING_ANY) {
        return fail_at(reader, part.text, "'%.*s' does not go with any, which promises nothing",
                       shown(part), part.text);
    }
    if (split_part(part, "overhead", &value)) {
        return read_size(reader, value, "overhead", &reader->rounding.overhead_bytes);
    }
    if (!split_part(part, "smallest", &value)) {
        return fail_at(reader, part.text, "'%.*s' is neither smallest=SIZE nor overhead=SIZE",
                       shown(part), part.text);
    }
    if (reader->rounding.kind != ROUNDING_CLASSES) {
        return fail_at(reader, part.text, "'%.*s' goes with classes=N alone", shown(part),
                       part.text);
    }
    return read_size(reader, value, "smallest", &reader->rounding.smallest_bytes);
}

bool rounding_parse(const char *text, size_t length, struct target_rounding *rounding,
                    struct rounding_error *error)
{
    struct reader reader = {.text = text, .error = error};
    const char *at = text, *end = text + length;
    if (!read_kind(&reader, word_next(&at, end))) {
        return false;
    }
    for (struct word part = word_next(&at, end); part.length > 0; part = word_next(&at, end)) {
        if (!read_setting(&reader, part)) {
            return false;
        }
    }
    *rounding = reader.rounding;
    return true;
}
