/* Traces in the form of trace viewers, {"traceEvents":[{...}, ...]}: the events of interest, one at
 * a time.  The others are passed over by their brackets, so that files of any size are read. */
#ifndef FORMATS_PROFILE_PRIVATE_CHROME_TRACE_H
#define FORMATS_PROFILE_PRIVATE_CHROME_TRACE_H

#include "formats/common/cursor.h"
#include "formats/common/import_error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* One reading.  Zero-initialise, then set what is above the line. */
struct chrome_trace {
    const char *text;
    size_t length;
    struct import_error *error;
    const char *const *words; /* of which an event of interest has one, quotes included; ends with
                               * NULL */
    /* Takes such an event, which begins at that byte. */
    enum import_result (*take)(struct chrome_trace *trace, size_t at, const json_t *event);
    /* Takes another member of the file's object, its value from byte `at` on; NULL: none is wanted.
     * name has no quotes. */
    enum import_result (*take_member)(struct chrome_trace *trace, const char *name,
                                      size_t name_length, size_t at, size_t length);
    void *context;           /* of take */
    bool may_end_with_comma; /* a comma behind the last event is no fault */
    /* --- */
    size_t offset;
    bool had_events; /* "traceEvents" was there */
};

/* Reads the whole text.  IMPORT_INVALID, IMPORT_INCOMPLETE (cut off) or what take returns. */
enum import_result chrome_trace_read(struct chrome_trace *trace);
/* True if the text may be one: an object that has "traceEvents". */
bool chrome_trace_is_likely(const char *text, size_t length);

/* Sets the error with line and column of a byte: the reason, or, at the end of the text, that it is
 * cut off. */
enum import_result chrome_trace_fail(const struct chrome_trace *trace, size_t at,
                                     const char *reason);

/* "ts", in microseconds, as nanoseconds and picoseconds.  False: it is none. */
bool chrome_trace_time(const json_t *ts, int64_t *time_ns, uint32_t *time_ps);

#endif
