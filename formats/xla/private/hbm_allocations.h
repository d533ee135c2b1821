/* The allocations report that libhbm prints on an out-of-memory (log_allocations_on_oom), taken
 * apart, and the ops that reach exactly the heap that it shows.
 *
 *     HBM allocations: 1 blocks, 1.0K in use (1024 bytes), 24B of it padding, 0B reserved, ...
 *       movable: 1 blocks, 1.0K (1024 bytes)
 *       1.0K at 0x3c00: buffer, movable, tag 1 weights, shape -, unpadded 1000B, padding 24B, ...
 *
 * A log prefix may stand before each line, and other lines between them. */
#ifndef FORMATS_XLA_PRIVATE_HBM_ALLOCATIONS_H
#define FORMATS_XLA_PRIVATE_HBM_ALLOCATIONS_H

#include "formats/common/import.h"
#include "formats/common/printed_size.h"

enum hbm_row_state {
    HBM_ROW_MOVABLE = 0,
    HBM_ROW_HELD,
    HBM_ROW_DYING,
    HBM_ROW_PROGRAM_IDLE,
    HBM_ROW_PROGRAM_BUSY,
    HBM_ROW_RETIRED,
    HBM_ROW_STATE_COUNT
};

/* One block of the list. */
struct hbm_row {
    uint64_t address; /* an offset into the device; UINT64_MAX = its contents are on the host */
    uint64_t size_bytes;
    struct size_range unpadded, padding;
    enum hbm_row_state state;
    int64_t tag;
    const char *name; /* name_length bytes of the text; 0 = it has none */
    size_t name_length;
    size_t line;
};

struct hbm_allocations {
    uint64_t block_count, used_bytes; /* as the first line says */
    struct size_range padding, reserved, free, limit;
    struct {
        bool is_said;
        uint64_t count, bytes;
        size_t line;
    } states[HBM_ROW_STATE_COUNT];
    struct hbm_row *rows; /* row_count of them; at most block_count */
    size_t row_count;
    size_t row_room;
    size_t line;       /* of the first line */
    size_t begin, end; /* bytes of the text */
};

/* True if the text has the first line of a report; *offset becomes where it begins.  Linear. */
bool hbm_allocations_find(const char *text, size_t length, size_t *offset);

/* Reads the report between bytes ->begin and ->end, which begins in line ->line; all else is set,
 * and ->end becomes where its last block ends.  Deinit in every case.  IMPORT_INCOMPLETE: lines of
 * it are missing; IMPORT_INVALID: sums that do not agree.  Linear. */
enum import_result hbm_allocations_parse(const struct import_input *input,
                                         struct hbm_allocations *allocations,
                                         struct import_error *error);
void hbm_allocations_deinit(struct hbm_allocations *allocations);

/* Fills *import: the heap, and the request of the message that stands beside the report, if one
 * does. IMPORT_INCOMPLETE: a block has no address; else as heap_image_build. */
enum import_result hbm_allocations_build(const struct hbm_allocations *allocations,
                                         const struct import_input *input, struct import *import,
                                         struct import_error *error);

#endif
