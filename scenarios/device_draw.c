#include "scenarios/private/parts.h"

#include "harness/base/check.h"

#include <string.h>

/* 16: with a granule of a page such a device still has two. */
enum { GRANULE_LARGEST_BYTES = 16384, GRANULE_DEFAULT_BYTES = 512, UNKNOWN_GRANULES_MIN = 16 };

/* Targets whose options are those of the reference allocator. */
static bool target_has_options(const struct setup *setup)
{
    return strcmp(setup->target, "hbm") == 0 || strncmp(setup->target, "plant_", 6) == 0;
}

/* A chip's own capacity, a small one where single blocks matter, or anything from 64 KiB to 96 GiB.
 */
static uint64_t draw_capacity(struct random *random, const struct device_options *options,
                              uint64_t granule_bytes)
{
    const struct chip *chip = chip_find(options->chip);
    CHECK(chip != NULL);
    const uint64_t low = options->granules_min == 0 ? 1 : options->granules_min;
    uint64_t capacity = 0;
    switch (random_below(random, 16)) {
    case 0:
        capacity = random_between(random, low, low + 64) * granule_bytes;
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        capacity = chip->capacity_bytes;
        break;
    default:
        capacity = random_log_uniform(random, UINT64_C(64) << 10, UINT64_C(96) << 30);
        break;
    }
    const uint64_t unit = capacity >= GRANULE_LARGEST_BYTES ? GRANULE_LARGEST_BYTES : granule_bytes;
    capacity -= capacity % unit;
    return capacity < low * granule_bytes ? low * granule_bytes : capacity;
}

/* Whole granules; where nobody here knows the target's granule, a power of two, which is a multiple
 * of any granule that fits in it. */
static uint64_t draw_small_capacity(struct random *random, const struct device_options *options,
                                    uint64_t granule_bytes, bool is_granule_known)
{
    const uint64_t low = options->granules_min > DEVICE_SMALL_GRANULES_MIN
                             ? options->granules_min
                             : DEVICE_SMALL_GRANULES_MIN;
    const uint64_t high = low > DEVICE_SMALL_GRANULES_MAX ? low : DEVICE_SMALL_GRANULES_MAX;
    const uint64_t granules = random_log_uniform(random, low, high);
    if (is_granule_known) {
        return granules * granule_bytes;
    }
    uint64_t power = UNKNOWN_GRANULES_MIN;
    while (power < granules) {
        power *= 2;
    }
    return power * granule_bytes;
}

static void draw_granule(struct random *random, struct setup *setup, bool capacity_is_free)
{
    static const uint64_t granules[] = {128, 512, 1024, GRANULE_LARGEST_BYTES};
    const bool is_drawn = random_chance(random, 1, 3);
    const uint64_t granule = granules[random_below(random, 4)];
    if (!is_drawn || setup->granule_bytes != 0 || setup_option(setup, "granule") != NULL) {
        return;
    }
    if (capacity_is_free || (setup->capacity_bytes != 0 && setup->capacity_bytes % granule == 0)) {
        setup->granule_bytes = granule;
    }
}

/* option is left alone when the user has set it; the draw is made either way, so that setting one
 * option does not change the rest of the trial. */
static void set_unless_fixed(struct setup *setup, const char *option, const char *value)
{
    if (setup_option(setup, option) == NULL) {
        (void)setup_set_option(setup, option, value);
    }
}

static void draw_options(struct random *random, struct setup *setup,
                         const struct device_options *options)
{
    static const char *const contracts[] = {"none", "slide", "repack"};
    static const char *const orders[] = {"drain,defragment,evict", "drain,evict,defragment",
                                         "defragment,drain,evict", "defragment,evict,drain",
                                         "evict,drain,defragment", "evict,defragment,drain"};
    const uint32_t contract_weights[] = {options->must_defragment ? 0 : 2, 3, 3};
    set_unless_fixed(setup, "defrag", contracts[random_weighted(random, contract_weights, 3)]);
    const bool reorders = random_chance(random, 1, 4);
    const char *order = orders[random_below(random, 6)];
    if (reorders) {
        set_unless_fixed(setup, "order", order);
    }
    if (random_chance(random, 1, 3) || options->must_evict_for_programs) {
        set_unless_fixed(setup, "program_evicts_program", "yes");
    }
}

void device_draw(struct random *random, struct setup *setup, bool capacity_is_free,
                 const struct device_options *options)
{
    const bool has_options = target_has_options(setup);
    if (has_options) {
        draw_granule(random, setup, capacity_is_free);
        draw_options(random, setup, options);
    }
    if (capacity_is_free) {
        const uint64_t granule = setup->granule_bytes != 0 ? setup->granule_bytes
                                                           : GRANULE_DEFAULT_BYTES;
        const bool is_small = options->is_small || setup->capacity_bytes == 0;
        setup->capacity_bytes = is_small
                                    ? draw_small_capacity(random, options, granule, has_options)
                                    : draw_capacity(random, options, granule);
        setup->chip[0] = '\0';
    }
}
