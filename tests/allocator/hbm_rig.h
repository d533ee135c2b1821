/* What the tests of libhbm start from: a simulated device, an allocator on it, and short ways to
 * ask. */
#ifndef TESTS_ALLOCATOR_HBM_RIG_H
#define TESTS_ALLOCATOR_HBM_RIG_H

#include "allocator/private/base.h"
#include "tests/allocator/hbm_device.h"

struct hbm_rig {
    struct hbm_device device;
    struct hbm_options options;
    struct hbm *hbm;
};

/* Starts a device of `granules` granules of 512 bytes with default options but for the contract;
 * change rig->options in between if needed.  rig_create and rig_stop abort the test on failure. */
void rig_init(struct hbm_rig *rig, uint64_t granules, enum hbm_defrag defrag);
void rig_create(struct hbm_rig *rig);
void rig_start(struct hbm_rig *rig, uint64_t granules, enum hbm_defrag defrag);

/* Destroys the allocator; no host memory may be left. */
void rig_stop(struct hbm_rig *rig);

/* Sizes in granules.  rig_buffer and rig_program expect success; the contents get a stamp that
 * rig_stamp_holds finds again wherever the block is. */
struct hbm_buffer *rig_buffer(struct hbm_rig *rig, uint64_t granules);
struct hbm_program *rig_program(struct hbm_rig *rig, uint64_t id, uint64_t image, uint64_t stack);
enum hbm_result rig_try(struct hbm_rig *rig, uint64_t granules);
void rig_stamp(struct hbm_rig *rig, struct hbm_buffer *buffer, unsigned char stamp);
bool rig_stamp_holds(struct hbm_rig *rig, struct hbm_buffer *buffer, unsigned char stamp);
uint64_t rig_at(struct hbm_rig *rig, struct hbm_buffer *buffer);
struct hbm_stats rig_stats(struct hbm_rig *rig);

#define RIG_GRANULE 512u

/* The host memory of a device without memory of its own, for calls below the allocator. */
struct hbm_host rig_host(struct hbm_device *device);

/* Chance, by a state that each test sets. */
extern uint64_t random_state;
uint64_t draw_below(uint64_t limit);

/* Whether the items can be laid into the rooms, by trying all; rooms are as before afterwards. */
bool can_be_packed(const uint64_t *sizes, size_t count, uint64_t *rooms, size_t room_count);

/* Each item of a search is aligned, within a span, and not over another. */
struct hbm_aligned;
void check_layout(const struct hbm_aligned *search);

#endif
