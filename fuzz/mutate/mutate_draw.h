/* Draws the parts of an op: numbers that its short form in an input can say, so that a long list
 * stays a short input, references that act in any state, and places in a list. */
#ifndef FUZZ_MUTATE_MUTATE_DRAW_H
#define FUZZ_MUTATE_MUTATE_DRAW_H

#include "fuzz/mutate/mutate_edit.h"
#include "harness/op/fit.h"

/* Returns the unit in which the capacity counts. */
uint64_t draw_unit_bytes(const struct setup *setup);
uint64_t draw_capacity_units(const struct setup *setup);

/* The nearest number, not above, that the short form can say. */
uint64_t draw_short_size(const struct setup *setup, uint64_t size_bytes);
uint64_t draw_short_delay(uint64_t delay_ns);

/* Mostly granules, log-uniform up to the device; now and then a part of the device, or no multiple
 * of the granule. */
uint64_t draw_size(const struct editing *editing);
/* An edge of what is right: nothing, about a granule, about the device, and about what no device
 * has.  Above 2^63 it can never be and must be refused at once, in whatever state; below it must be
 * judged. */
uint64_t draw_edge_size(const struct editing *editing);
/* Log-uniform from 1 us to 1 s; one in sixteen never comes. */
uint64_t draw_delay(struct random *random);
/* The op asks for what just fits, or just does not. */
void draw_fit(struct random *random, struct op *op);

/* An op of the kind whose references are relative, its size now and then a fit, all else drawn. */
struct op draw_op(const struct editing *editing, enum op_kind kind);
/* Any kind that is run in one lane, the likelier the more states depend on it. */
enum op_kind draw_kind(struct random *random);

/* Up to bound, the small ones likelier; bound >= 1. */
size_t draw_count(struct random *random, size_t bound);
/* Draws a place at which ops may go in: 0..count. */
size_t draw_place(const struct editing *editing);
/* A run of ops of a list, the short ones likelier.  False: the list is empty. */
struct list_part {
    size_t first, count;
};
bool draw_part(const struct editing *editing, const struct op_list *ops, struct list_part *part);
/* One of the ops [0, before) for which is_one says true, each as likely.  False: there is none. */
bool draw_op_where(const struct editing *editing, size_t before,
                   bool (*is_one)(const struct op *op), size_t *at);
bool draw_is_request(const struct op *op);  /* can be out of memory: alloc, output, load, donate */
bool draw_makes_block(const struct op *op); /* a buffer or an output */

/* Makes the op name its block or event by place among what is alive or pending. */
void op_loosen(struct op *op);

/* Appends an op without references to editing->block and returns it, until the next one is
 * appended. */
struct op *block_add(struct editing *editing, enum op_kind kind);
/* Appends draw_op(). */
struct op *block_draw(struct editing *editing, enum op_kind kind);
/* Puts the block before op `at` and empties it; references in it count in the list as it is then.
 * False, and only empties it: the block is empty, or there is no room. */
bool block_insert(struct editing *editing, size_t at);

#endif
