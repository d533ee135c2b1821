/* Out-of-memory dumps of the BFC allocator of TensorFlow, TSL and XLA (2016 to 2025): the lines of
 * a log, the dump that they make up, whether it is complete and agrees with itself, and the ops
 * that rebuild its heap.  In four steps, one file each:
 *
 *     line of text --bfc_line--> struct bfc_line --bfc_read--> struct bfc_dump
 *     struct bfc_dump --bfc_check--> import_result
 *     struct bfc_dump --bfc_build--> ops
 *
 * A dump is: the request that failed; bins; regions with their chunks; a summary of sizes;
 * statistics; a map. Grammar: docs/formats/bfc.md. */
#ifndef FORMATS_BFC_PRIVATE_BFC_H
#define FORMATS_BFC_PRIVATE_BFC_H

#include "formats/common/cursor.h"
#include "formats/common/import.h"

enum {
    BFC_GRANULE_BYTES = 256, /* sizes are rounded up to it */
    BFC_BIN_COUNT =
        21 /* 256 << 0 .. 256 << 20, each for sizes below the next; the last has no end */
};
enum { BFC_MAP_LENGTH = 100 };
#define BFC_NEXT_NONE UINT64_MAX /* the last chunk of a region */

/* --- lines --- */

/* In the order in which the parts of a dump come; see bfc_dump_take. */
enum bfc_line_kind {
    BFC_LINE_NONE = 0,  /* not of this allocator, or of no interest */
    BFC_LINE_REQUEST,   /* "Allocator (NAME) ran out of memory trying to allocate SIZE" */
    BFC_LINE_NAME,      /* "BFCAllocator dump for NAME" */
    BFC_LINE_BIN,       /* "Bin (256): Total Chunks: 4, Chunks in use: 4. ..." */
    BFC_LINE_BIN_FOR,   /* "Bin for SIZE was SIZE, Chunk State:" */
    BFC_LINE_REGION,    /* "Next region of size N" */
    BFC_LINE_CHUNK,     /* "InUse at ADDRESS of size N next K", "Free at ...", "Chunk at ..." */
    BFC_LINE_SUMMARY,   /* "4 Chunks of size N totalling SIZE" */
    BFC_LINE_SUM_TOTAL, /* "Sum Total of in-use chunks: SIZE" */
    BFC_LINE_POOL,      /* "Total bytes in pool: N memory_limit_: N available bytes: N ..." */
    BFC_LINE_STATS,     /* "Stats:" */
    BFC_LINE_STAT,      /* "InUse:   N", behind it */
    BFC_LINE_MAP, /* a hundred of '*' (in use), 'x' (in use, but not asked for) and '_' (free) */
    BFC_LINE_EPILOGUE, /* "Ran out of memory trying to allocate SIZE.  See logs ...", behind the
                          dump: 2016 */
    BFC_LINE_SHAPE, /* "OOM when allocating tensor with shape[D,D]", of who asked, behind the dump
                     */
    BFC_LINE_WRONG  /* of the allocator, but it breaks the grammar */
};

enum bfc_stat { BFC_STAT_LIMIT, BFC_STAT_IN_USE, BFC_STAT_MAX_IN_USE, BFC_STAT_COUNT };

/* One line, taken apart.  Which fields mean something depends on the kind. */
struct bfc_line {
    enum bfc_line_kind kind;
    bool is_unmistakable;       /* no other program prints such a line */
    const char *reason;         /* WRONG: why */
    struct text_part name;      /* REQUEST, NAME: the allocator; REQUEST: "" = not said */
    struct text_part operation; /* REQUEST, CHUNK: "" = not said */
    const char *map;            /* MAP: BFC_MAP_LENGTH characters of the text */
    struct text_part sizes[2];  /* printed ones.  REQUEST, EPILOGUE, BIN_FOR, SUM_TOTAL: one;
                                 * SUMMARY:  in all; BIN: of all chunks, of those in use */
    uint64_t size_bytes; /* CHUNK, REGION, SUMMARY, STAT; POOL: of all regions; REQUEST: rounded, 0
                          * = not said; BIN: its smallest; SHAPE: the product of its dimensions */
    uint64_t address;    /* CHUNK */
    uint64_t count;      /* SUMMARY, BIN: chunks */
    uint64_t in_use_count;    /* BIN */
    uint64_t limit_bytes;     /* POOL */
    uint64_t available_bytes; /* POOL */
    uint64_t next;            /* CHUNK: number of the next chunk, or BFC_NEXT_NONE */
    enum bfc_stat stat;       /* STAT */
    bool has_next;            /* CHUNK */
    bool is_in_use;           /* CHUNK */
    bool is_pending; /* CHUNK: freed, but work of the device that may use it was not known to be
                        done */
    bool counts_free_only; /* BIN: up to TensorFlow 1.3 */
};

/* Takes a line without its line feed apart.  Linear in its length. */
void bfc_line_read(const char *text, size_t length, bool is_behind_stats, struct bfc_line *line);

/* True if the allocator prints that many bytes as the text. */
bool bfc_prints_as(uint64_t size_bytes, const struct text_part *text);

/* --- dumps --- */

struct bfc_chunk {
    uint64_t address, size_bytes, next;
    struct text_part operation;
    size_t line;
    bool has_next, is_in_use, is_pending;
    bool begins_region;
};
struct bfc_region {
    uint64_t size_bytes;
    size_t first_chunk; /* its chunks go up to those of the next region */
    size_t line;
};
struct bfc_bin {
    uint64_t count, in_use_count;
    struct text_part sizes[2];
    size_t line; /* 0: not there */
    bool counts_free_only;
};
struct bfc_summary {
    uint64_t size_bytes, count;
    struct text_part total;
    size_t line;
};

/* One dump as far as it was read.  Texts point into the log.  A line of 0 says that the part is not
 * there. */
struct bfc_dump {
    enum bfc_line_kind last; /* the part that came last */
    size_t line;             /* of its first line */
    struct text_part name;
    struct text_part operation; /* that asked */
    struct text_part requested; /* printed size; length 0: not said */
    uint64_t rounded_bytes;     /* 0: not said */
    uint64_t element_count;     /* of the tensor that was asked for; 0: not said */
    struct text_part bin_for;   /* the rounded size, printed */
    size_t request_line, bin_for_line;
    struct bfc_bin bins[BFC_BIN_COUNT];
    struct bfc_region *regions;
    size_t region_count, region_room;
    struct bfc_chunk *chunks; /* in the order of the log; bfc_dump_check sorts them by address */
    size_t chunk_count, chunk_room;
    struct bfc_summary *summaries;
    size_t summary_count, summary_room;
    struct text_part sum_total;
    size_t sum_total_line;
    uint64_t pool_bytes, pool_limit_bytes, pool_available_bytes;
    size_t pool_line;
    uint64_t stats[BFC_STAT_COUNT];
    size_t stat_lines[BFC_STAT_COUNT];
    const char *map;
    size_t map_line;
    bool has_parts; /* any but the request and the map, which programs of little talk print alone */
    const char *wrong; /* why line wrong_line breaks the grammar; NULL: none does */
    size_t wrong_line;
    /* Set by bfc_dump_check. */
    uint64_t in_use_bytes, free_bytes, pending_bytes, region_bytes, largest_free_bytes,
        request_bytes;
    size_t in_use_count, free_count, pending_count, border_count;
    bool is_request_exact; /* else it was chosen from those that print as the log says */
};
/* Zero is an empty one, as it is after both; clear keeps its memory. */
void bfc_dump_deinit(struct bfc_dump *dump);
void bfc_dump_clear(struct bfc_dump *dump);

/* Adds a line (not NONE).  False: it cannot be of this dump, another one begins; nothing changed.
 */
bool bfc_dump_take(struct bfc_dump *dump, const struct bfc_line *line, size_t number);

/* Checks that the dump is complete and agrees with itself.  IMPORT_INCOMPLETE: parts or lines of it
 * are missing, and which; IMPORT_INVALID: a line contradicts others.  O(chunks log chunks). */
enum import_result bfc_dump_check(struct bfc_dump *dump, struct import_error *error);

/* The ops of a checked dump: its heap, then the request.  IMPORT_INVALID: what the user fixed does
 * not hold it. */
enum import_result bfc_dump_build(const struct bfc_dump *dump, const struct import_input *input,
                                  struct import *import, struct import_error *error);

#endif
