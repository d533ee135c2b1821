/* From an array's shape and layout to its bytes in device memory: the last physical dimensions are
 * padded up to a tile, which is how f32[8388608,8,4] becomes 32 times larger than its elements.
 *
 * Physical order: minor_to_major[0] is the dimension that varies fastest.  The tile covers the
 * last physical dimensions, its last number the fastest one.  Only the first tile pads; a second
 * one such as (2,1) or (4,1) merely reorders within it.
 * Source: openxla tiled_layout.md and error code E1000 (padding to 128 minor, 8 second minor). */
#ifndef HBM_HBM_SHAPE_H
#define HBM_HBM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define HBM_SHAPE_RANK_MAX 8
#define HBM_TILE_RANK_MAX 3

enum hbm_element_type {
    HBM_PRED,
    HBM_S2,
    HBM_U2,
    HBM_S4,
    HBM_U4,
    HBM_S8,
    HBM_U8,
    HBM_F8E4M3FN,
    HBM_F8E5M2,
    HBM_S16,
    HBM_U16,
    HBM_F16,
    HBM_BF16,
    HBM_S32,
    HBM_U32,
    HBM_F32,
    HBM_S64,
    HBM_U64,
    HBM_F64,
    HBM_C64,
    HBM_C128,
};
#define HBM_ELEMENT_TYPE_COUNT 21

/* Invariant of a valid shape: rank <= HBM_SHAPE_RANK_MAX; minor_to_major is a permutation of
 * 0..rank-1; tile_rank <= HBM_TILE_RANK_MAX and every tile number is at least 1.  Unused array
 * elements are 0, so that equal shapes are equal bytes. */
struct hbm_shape {
    uint64_t dimensions[HBM_SHAPE_RANK_MAX]; /* logical order; 0 is legal: no elements */
    uint32_t tile[HBM_TILE_RANK_MAX];        /* the first tile, major to minor */
    uint8_t minor_to_major[HBM_SHAPE_RANK_MAX];
    uint8_t rank;
    uint8_t tile_rank;    /* 0: untiled, nothing is padded */
    uint8_t element_type; /* enum hbm_element_type */
    uint8_t reserved[1];  /* 0 */
};

enum hbm_shape_result {
    HBM_SHAPE_OK,
    HBM_SHAPE_SYNTAX,   /* not a shape */
    HBM_SHAPE_LIMIT,    /* too many dimensions or tile numbers for this library */
    HBM_SHAPE_OVERFLOW, /* a number or a size above 2^63 */
};

/* Bits of one element in memory before tiling (1 byte is 8 bits; 4-bit types are 4), and its name
 * as XLA prints it ("f32", "pred"). */
uint32_t hbm_element_bits(enum hbm_element_type type);
const char *hbm_element_name(enum hbm_element_type type);

/* A row-major shape with the tile the compiler chooses by default (see hbm_shape_tile_default).
 * rank <= HBM_SHAPE_RANK_MAX; the caller's dimensions are copied. */
void hbm_shape_init(struct hbm_shape *shape, enum hbm_element_type type, const uint64_t *dimensions,
                    size_t rank);

/* Sets the default tile from type, dimensions and layout: (2,128) when the second-minor dimension
 * is 1 or 2, (4,128) when it is 3 or 4, else (8,128); for rank 1 the smallest of 128, 256, 512 and
 * 1024 that is at least as large as the dimension, but 256 at least, which is what a scalar has.
 * Source: public compiler listings, f32[56]:T(256), f32[1024]:T(1024), f32[]{:T(256)}. */
void hbm_shape_tile_default(struct hbm_shape *shape);

bool hbm_shape_is_valid(const struct hbm_shape *shape);

/* Bytes with and without padding.  pred takes 4 bytes an element when tiled (as the compiler pads
 * it) and 1 when not.  OVERFLOW: above 2^63; *bytes is unchanged then. */
enum hbm_shape_result hbm_shape_padded_bytes(const struct hbm_shape *shape, uint64_t *bytes);
enum hbm_shape_result hbm_shape_unpadded_bytes(const struct hbm_shape *shape, uint64_t *bytes);

/* Reads text such as f32[512,245,256]{2,1,0:T(8,128)} up to its NUL.  Without a layout the order is
 * row-major; without a tile the shape is untiled; further tiles (8,128)(2,1) are read and do not
 * pad.  On failure *shape is unchanged and *error_offset, unless NULL, is the offending byte. */
enum hbm_shape_result hbm_shape_parse(const char *text, struct hbm_shape *shape,
                                      size_t *error_offset);

#define HBM_SHAPE_TEXT_BYTES 288
/* Prints the same form; at most `capacity` bytes with NUL; HBM_SHAPE_TEXT_BYTES is always enough.
 */
char *hbm_shape_print(const struct hbm_shape *shape, char *text, size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
