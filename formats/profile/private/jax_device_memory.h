/* A profile of pprof (github.com/google/pprof, proto/profile.proto) in memory: samples with values,
 * labels and stacks.  Texts, functions and locations are found by number; nothing is copied.  And a
 * device-memory profile while it is read, as jax_device_memory*.c share it: samples become groups
 * of blocks, and these become ops. */
#ifndef FORMATS_PROFILE_PRIVATE_JAX_DEVICE_MEMORY_H
#define FORMATS_PROFILE_PRIVATE_JAX_DEVICE_MEMORY_H

#include "formats/common/import.h"
#include "formats/common/protobuf.h"
#include "formats/common/stacks.h"
#include "formats/common/tags.h"

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

/* --- the profile as groups of blocks --- */

#define JAX_NO_TAG UINT32_MAX

/* The first frame of the user's own code at a location, once it was looked for. */
struct jax_place {
    bool is_known, is_user;
    uint32_t tag; /* index into tags: of that frame, or else of the innermost; JAX_NO_TAG: there is
                     none */
    bool has_frames, is_broken; /* broken: its frames cannot be read */
    uint32_t frame_count; /* of has_frames: snapshot->frames[first_frame..], the innermost first */
    size_t first_frame;
};

/* Blocks of one size, or two: bytes / count, and one byte more for bytes % count of them. */
struct jax_group {
    uint64_t count, bytes;
    uint32_t device; /* index into devices */
    uint32_t tag;    /* index into tags, or JAX_NO_TAG */
    uint32_t stack;  /* or STACKS_NONE */
    bool is_program;
};

struct snapshot {
    struct pprof profile;
    struct import_error *error;
    int count_value, bytes_value; /* which value of a sample */
    struct jax_place *places;     /* one for each location */
    struct name_table devices, tags;
    struct stacks *stacks; /* NULL: nobody asked for them; not owned */
    uint32_t *frames;      /* frame_count numbers of frames: those of places */
    size_t frame_count, frame_room;
    struct jax_group *groups; /* group_count, in the order of the file */
    size_t group_count, group_room;
    uint64_t device_bytes[OP_HOST_COUNT_MAX];
    uint64_t buffer_count, buffer_bytes, program_count, program_bytes;
    uint64_t empty_count, unknown_count, uneven_count;
    uint64_t size_bits; /* all sizes, or-ed */
};

/* The ops, setup and notes of all groups, of which there is one at least.  IMPORT_INVALID: in
 * granules that are fixed they are more than 2^50 bytes. */
enum import_result jax_device_memory_build(const struct snapshot *snapshot,
                                           const struct import_input *input, struct import *import);

#endif
