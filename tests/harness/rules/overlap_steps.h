/* What the tests of overlapping calls do again and again, upon their rig.  Addresses and sizes are
 * granules. */
#ifndef TESTS_HARNESS_RULES_OVERLAP_STEPS_H
#define TESTS_HARNESS_RULES_OVERLAP_STEPS_H

#include "tests/harness/rules/overlap_rig.h"

/* Calls that begin and return while the overlap lasts; the number of the op. */
uint32_t call_on(enum op_kind kind, uint32_t ref);
uint32_t call_alloc(uint64_t handle, uint64_t at, uint64_t size);
uint32_t call_refused(uint64_t size);
uint32_t begin_load(uint64_t size);

/* The same as an overlap of its own, in which nothing is wrong. */
uint32_t make_block(uint64_t handle, uint64_t at, uint64_t size);
uint32_t make_program(uint64_t handle, uint64_t at, uint64_t size);

/* Where the target says in the end that the block is. */
enum { NOWHERE = 99 };
void place(uint64_t handle, uint64_t at);

/* What the target does to the device of host 0. */
uint64_t take_stage(uint64_t from, uint64_t size);
enum device_result end_stage(uint64_t stage, uint64_t to);
/* The next device call of the kind is struck. */
void strike(enum fault_kind kind);

/* Each call was told, and nothing was wrong with it. */
void expect_all_kept(void);

#endif
