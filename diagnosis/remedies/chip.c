/* Another chip: the list on a device of its capacity. */
#include "diagnosis/private/variant.h"

#include "harness/base/size.h"
#include "harness/op/system.h"

#include <stdio.h>
#include <string.h>

/* Returns how much of the memory that a chip reserves is in the list: the list begins with it. */
static uint64_t find_reserved_bytes(const struct remedy_case *given)
{
    const unsigned tag = setup_tag_named(given->setup, SETUP_RESERVED_NAME);
    const struct op *first = given->ops->ops;
    return given->ops->count > 0 && first->kind == OP_ALLOC && first->tag == tag ? first->size_bytes
                                                                                 : 0;
}

static uint64_t find_chip_capacity(const struct remedy_case *given, const struct chip *chip)
{
    const uint64_t granule = given->contract->granule_bytes;
    return (chip->capacity_bytes + find_reserved_bytes(given)) / granule * granule;
}

/* True if chips[i] comes before chips[k]: larger devices before smaller ones, and the nearest of
 * each first. */
static bool is_nearer(const struct remedy_case *given, size_t i, size_t k)
{
    const uint64_t now = given->setup->capacity_bytes;
    const uint64_t of_a = find_chip_capacity(given, chips[i]);
    const uint64_t of_b = find_chip_capacity(given, chips[k]);
    if (of_a == of_b) {
        return i < k;
    }
    if ((of_a > now) != (of_b > now)) {
        return of_a > now;
    }
    return of_a > now ? of_a < of_b : of_a > of_b;
}

/* TPUs where the list is from one, or nobody knows; GPUs where it is from one of those; to the
 * users of host memory no chip is another one. */
static bool is_of_readers_kind(const struct setup *setup, const struct chip *chip)
{
    const struct system *system = system_find(setup->system);
    const struct chip *named = chip_find(setup->chip);
    if (system != NULL) {
        return system->is_tpu ? chip->kind == CHIP_TPU
                              : chip->kind == CHIP_GPU && strcmp(system->device, "GPU") == 0;
    }
    return chip->kind == (named == NULL ? CHIP_TPU : named->kind);
}

/* There are many GPUs: smaller ones, which do not help, are left out, and the farthest. */
enum { GPU_COUNT_MAX = 5 };

static bool is_another(const struct remedy_case *given, const struct chip *chip)
{
    if (chip->kind == CHIP_GPU && find_chip_capacity(given, chip) < given->setup->capacity_bytes) {
        return false;
    }
    return is_of_readers_kind(given->setup, chip) && strcmp(given->setup->chip, chip->name) != 0 &&
           find_chip_capacity(given, chip) != given->setup->capacity_bytes;
}

static size_t count_chips_before(const struct remedy_case *given, size_t chip)
{
    size_t before = 0;
    for (size_t i = 0; chips[i] != NULL; i++) {
        before += is_another(given, chips[i]) && is_nearer(given, i, chip);
    }
    return before;
}

static bool chip_parameter(const struct remedy_case *given, size_t index, uint64_t *parameter,
                           char note[REMEDY_NOTE_BYTES])
{
    snprintf(note, REMEDY_NOTE_BYTES, "there is no other chip");
    for (size_t i = 0; chips[i] != NULL; i++) {
        const bool is_near = chips[i]->kind == CHIP_TPU || index < GPU_COUNT_MAX;
        if (is_near && is_another(given, chips[i]) && count_chips_before(given, i) == index) {
            *parameter = i;
            return true;
        }
    }
    return false;
}

static void chip_label(const struct remedy_case *given, uint64_t parameter,
                       char text[REMEDY_LABEL_BYTES])
{
    (void)given;
    snprintf(text, REMEDY_LABEL_BYTES, "%s", chips[parameter]->name);
}

static bool chip_apply(const struct remedy_case *given, uint64_t parameter,
                       struct remedy_result *result)
{
    const struct chip *chip = chips[parameter];
    setup_set_capacity(&result->setup, find_chip_capacity(given, chip));
    snprintf(result->setup.chip, sizeof result->setup.chip, "%s", chip->name);
    const size_t retired_count = remedy_leave_out_retired(given, result);
    remedy_note_retired(
        result,
        snprintf(result->note, sizeof result->note, "a device of %s%s",
                 size_text_of(result->setup.capacity_bytes - find_reserved_bytes(given)).text,
                 find_reserved_bytes(given) > 0 ? " plus the reserved memory" : ""),
        retired_count);
    return true;
}

const struct remedy remedy_chip = {
    .name = "chip",
    .summary = "another chip",
    .parameter_name = "chip",
    .assumes =
        "The job requests the same buffers there; layouts and programs of another chip may differ.",
    .search = REMEDY_EACH,
    .parameter = chip_parameter,
    .label = chip_label,
    .apply = chip_apply,
};
