/* A profile of pprof (github.com/google/pprof, proto/profile.proto) in memory: samples with values,
 * labels and stacks. Texts, functions and locations are found by number; nothing is copied. */
#ifndef FORMATS_PROFILE_PRIVATE_PPROF_H
#define FORMATS_PROFILE_PRIVATE_PPROF_H

#include "formats/common/protobuf.h"

/* The whole profile: opaque but for what is said here.  Holds positions in the text, which must
 * outlive it. */
struct pprof {
    const char *text;
    size_t length;
    size_t *strings; /* string_count: where each field begins */
    size_t string_count, string_room;
    struct protobuf_index functions; /* their numbers are those of the texts of name and file */
    struct protobuf_index locations;
    size_t sample_count;
    uint64_t types[8][2]; /* numbers of the texts: what a value counts, and its unit */
    size_t type_count;    /* at most 8 are kept */
};

/* IMPORT_OK: the profile is indexed, and pprof_deinit is due.  Else *error says which byte is
 * wrong, where the file was cut off, or which text of a type or function is not there
 * (IMPORT_INCOMPLETE: texts come last). */
enum import_result pprof_read(const char *text, size_t length, struct pprof *profile,
                              struct import_error *error);
void pprof_deinit(struct pprof *profile);

/* The text of that number.  False: there is none. */
bool pprof_text(const struct pprof *profile, uint64_t number, struct protobuf *text);

/* Returns the index of that value in a sample; -1: none of the first 8. */
int pprof_value_find(const struct pprof *profile, const char *type, const char *unit);

enum { PPROF_VALUE_COUNT_MAX = 8, PPROF_LABEL_COUNT_MAX = 8 };
struct pprof_label {
    struct protobuf key, text; /* text is empty where the label is a number */
};
struct pprof_sample {
    size_t at; /* the byte where it begins */
    int64_t values[PPROF_VALUE_COUNT_MAX];
    size_t value_count;
    struct pprof_label labels[PPROF_LABEL_COUNT_MAX];
    size_t label_count;
    struct protobuf message; /* for pprof_stack */
};

/* Each sample in the order of the file.  Begin with protobuf_of(profile->text, profile->length).
 * IMPORT_OK: *sample is set, or *is_end.  IMPORT_INCOMPLETE: a text that is not there.
 * IMPORT_INVALID: more values or labels than PPROF_*_COUNT_MAX. */
enum import_result pprof_sample_next(const struct pprof *profile, struct protobuf *reader,
                                     struct pprof_sample *sample, bool *is_end,
                                     struct import_error *error);

/* The label of that key, or NULL. */
const struct protobuf *pprof_label_find(const struct pprof_sample *sample, const char *key);

/* Calls visit with the index of each location of the stack, the innermost first, until it does not
 * return IMPORT_OK or sets *is_over. IMPORT_INVALID: a location that is not there.  O(locations of
 * the sample x log). */
typedef enum import_result pprof_visit(void *context, size_t location, bool *is_over);
enum import_result pprof_stack(const struct pprof *profile, const struct pprof_sample *sample,
                               pprof_visit *visit, void *context, struct import_error *error);

struct pprof_frame {
    struct protobuf function, file;
    uint64_t line; /* 0 = not known */
};
/* The next function at a location, the innermost first.  Begin with pprof_location().  IMPORT_OK:
 * *frame is set, or *is_end. IMPORT_INVALID: a function that is not there. */
struct protobuf pprof_location(const struct pprof *profile, size_t location);
enum import_result pprof_frame_next(const struct pprof *profile, struct protobuf *reader,
                                    struct pprof_frame *frame, bool *is_end,
                                    struct import_error *error);

#endif
