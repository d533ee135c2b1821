/* The stages that are taken out of blocks, or brought back, while calls overlap: which block each
 * holds, and whether that may have lost its place to something else. */
#ifndef HARNESS_RULES_PRIVATE_OVERLAP_STAGES_H
#define HARNESS_RULES_PRIVATE_OVERLAP_STAGES_H

#include "harness/call/driver.h"

/* What a stage that was taken out holds, if a block was there. */
struct staged {
    const struct host *host;
    uint64_t stage;
    uint32_t slot, op;
    bool is_back;  /* what it held has a place since */
    bool may_stay; /* while nobody kept it in place the device refused a call, so that nobody knows
                      where the target stopped, or something else was written there: from then on it
                      may be in host memory alone, where a hold does not say at which address it is
                    */
};

/* Zero is a valid start. */
struct overlap_stages {
    struct staged *staged; /* count of them */
    size_t count, capacity;
};
void overlap_stages_deinit(struct overlap_stages *stages);

/* The next device call of the log, one that took a stage out. */
void overlap_stages_take_out(struct overlap_stages *stages, const struct host *host,
                             const struct device_call *made);
/* The next device call of the log, one that brings a stage back: what was taken out before any of
 * these calls, and is in host memory alone since, is known from here on. */
void overlap_stages_take_in(struct overlap_stages *stages, const struct host *host,
                            const struct device_call *made);
/* The next device call of the log, one that was refused. */
void overlap_stages_take_refused(const struct overlap_stages *stages, const struct host *host,
                                 const struct device_call *made);
/* What is known of the stage, until the next is taken out; NULL: no block lay where it was taken
 * out, or it is gone. */
struct staged *overlap_stages_find(const struct overlap_stages *stages, const struct host *host,
                                   uint64_t stage);
/* Whether a stage of the block was taken out: where its place is overwritten it is in host memory
 * alone. */
bool overlap_stages_hold(const struct overlap_stages *stages, const struct host *host,
                         uint32_t slot);
/* Whether the block may be there alone: what device work there was on it had its place back then,
 * and an event that it is freed with later keeps no place. */
bool overlap_stages_may_hold_alone(const struct overlap_stages *stages, const struct host *host,
                                   uint32_t slot);

/* Something else lies where the block was. */
void overlap_stages_strand(const struct overlap_stages *stages, struct host *host, uint32_t slot);
/* Blocks in the range of which a stage was taken out have gone to host memory: something else was
 * placed there. */
void overlap_stages_strand_in(const struct overlap_stages *stages, struct host *host,
                              uint64_t start, uint64_t end);
/* What may stay in host memory, and of which the target does not say an address, is in host memory
 * alone: holds that came after the refusal do not speak against it, nor that it was freed.  After
 * the stages are written, before places are looked for. */
void overlap_stages_strand_refused(const struct overlap_stages *stages, struct host *host);
/* Writes the block to the stages that were taken out of it and have not ended. */
void overlap_stages_stamp(const struct overlap_stages *stages, const struct host *host,
                          uint32_t slot);

#endif
