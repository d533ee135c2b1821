/* A device-memory profile while it is read, as jax_device_memory*.c share it: samples become groups
 * of blocks, and these become ops. */
#ifndef FORMATS_PROFILE_PRIVATE_JAX_DEVICE_MEMORY_H
#define FORMATS_PROFILE_PRIVATE_JAX_DEVICE_MEMORY_H

#include "formats/common/import.h"
#include "formats/common/stacks.h"
#include "formats/common/tags.h"
#include "formats/profile/private/pprof.h"

#define JAX_NO_TAG UINT32_MAX

/* The first frame of the user's own code at a location, once it was looked for. */
struct place {
    bool is_known, is_user;
    uint32_t tag; /* index into tags: of that frame, or else of the innermost; JAX_NO_TAG: there is
                     none */
    bool has_frames, is_broken; /* broken: its frames cannot be read */
    uint32_t frame_count; /* of has_frames: snapshot->frames[first_frame..], the innermost first */
    size_t first_frame;
};

/* Blocks of one size, or two: bytes / count, and one byte more for bytes % count of them. */
struct group {
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
    struct place *places;         /* one for each location */
    struct name_table devices, tags;
    struct stacks *stacks; /* NULL: nobody asked for them; not owned */
    uint32_t *frames;      /* frame_count numbers of frames: those of places */
    size_t frame_count, frame_room;
    struct group *groups; /* group_count, in the order of the file */
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
