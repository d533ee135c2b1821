#include "tests/allocator/hbm_rig.h"

#include "allocator/private/search.h"
#include "tests/helpers/suite.h"

#include <check.h>
#include <string.h>

void rig_init(struct hbm_rig *rig, uint64_t granules, enum hbm_defrag defrag)
{
    hbm_device_init(&rig->device, granules * RIG_GRANULE);
    hbm_options_init(&rig->options);
    rig->options.capacity_bytes = granules * RIG_GRANULE;
    rig->options.defrag = defrag;
}

void rig_create(struct hbm_rig *rig)
{
    struct hbm_services services = hbm_device_services(&rig->device);
    ck_assert_int_eq(hbm_create(&services, &rig->options, &rig->hbm), HBM_OK);
}

void rig_start(struct hbm_rig *rig, uint64_t granules, enum hbm_defrag defrag)
{
    rig_init(rig, granules, defrag);
    rig_create(rig);
}

void rig_stop(struct hbm_rig *rig)
{
    ck_assert(hbm_invariants_hold(rig->hbm));
    hbm_destroy(rig->hbm);
    ck_assert_uint_eq(rig->device.host_bytes, 0);
    hbm_device_deinit(&rig->device);
}

struct hbm_buffer *rig_buffer(struct hbm_rig *rig, uint64_t granules)
{
    struct hbm_buffer *buffer = NULL;
    struct hbm_request request = {.size_bytes = granules * RIG_GRANULE};
    ck_assert_int_eq(hbm_allocate(rig->hbm, &request, &buffer), HBM_OK);
    ck_assert(hbm_invariants_hold(rig->hbm));
    return buffer;
}

struct hbm_program *rig_program(struct hbm_rig *rig, uint64_t id, uint64_t image, uint64_t stack)
{
    struct hbm_program *program = NULL;
    struct hbm_program_request request = {.id = id,
                                          .image_bytes = image * RIG_GRANULE,
                                          .stack_bytes = stack * RIG_GRANULE,
                                          .name = "jit_step"};
    ck_assert_int_eq(hbm_program_load(rig->hbm, &request, &program), HBM_OK);
    ck_assert(hbm_invariants_hold(rig->hbm));
    return program;
}

enum hbm_result rig_try(struct hbm_rig *rig, uint64_t granules)
{
    struct hbm_buffer *buffer;
    struct hbm_request request = {.size_bytes = granules * RIG_GRANULE};
    enum hbm_result result = hbm_allocate(rig->hbm, &request, &buffer);
    ck_assert(hbm_invariants_hold(rig->hbm));
    return result;
}

void rig_stamp(struct hbm_rig *rig, struct hbm_buffer *buffer, unsigned char stamp)
{
    memset(rig->device.memory + rig_at(rig, buffer), stamp, hbm_buffer_size(rig->hbm, buffer));
}

bool rig_stamp_holds(struct hbm_rig *rig, struct hbm_buffer *buffer, unsigned char stamp)
{
    const unsigned char *memory = rig->device.memory + rig_at(rig, buffer);
    for (uint64_t i = 0; i < hbm_buffer_size(rig->hbm, buffer); i++) {
        if (memory[i] != stamp) {
            return false;
        }
    }
    return true;
}

uint64_t rig_at(struct hbm_rig *rig, struct hbm_buffer *buffer)
{
    return hbm_buffer_address(rig->hbm, buffer);
}

struct hbm_stats rig_stats(struct hbm_rig *rig)
{
    struct hbm_stats stats;
    hbm_stats(rig->hbm, &stats);
    return stats;
}

struct hbm_host rig_host(struct hbm_device *device)
{
    hbm_device_init(device, 0);
    return (struct hbm_host){.services = hbm_device_services(device)};
}

uint64_t random_state;

uint64_t draw_below(uint64_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % limit;
}

bool can_be_packed(const uint64_t *sizes, size_t count, uint64_t *rooms, size_t room_count)
{
    bool fits = count == 0;
    for (size_t i = 0; i < room_count && !fits; i++) {
        if (rooms[i] >= sizes[0]) {
            rooms[i] -= sizes[0];
            fits = can_be_packed(sizes + 1, count - 1, rooms, room_count);
            rooms[i] += sizes[0];
        }
    }
    return fits;
}

void check_layout(const struct hbm_aligned *search)
{
    for (size_t i = 0; i < search->item_count; i++) {
        const uint64_t low = search->addresses[i], high = low + search->sizes[i];
        bool is_inside = false;
        ck_assert_uint_eq(low, hbm_align_down(low, search->shifts[i]));
        for (size_t s = 0; s < search->span_count; s++) {
            is_inside = is_inside || (low >= search->spans[s].low && high <= search->spans[s].high);
        }
        ck_assert(is_inside);
        for (size_t k = 0; k < i; k++) {
            ck_assert(high <= search->addresses[k] ||
                      search->addresses[k] + search->sizes[k] <= low);
        }
    }
}
