#include "harness/rules/cost_class.h"

#include "harness/base/check.h"

/* A mean of fewer ops, or a lower class, says little: constant costs outweigh what grows. */
enum { CLASS_FIRST = 3, CLASSES_APART_MIN = 3, CLASS_OPS_MIN = 8 };
/* Twice is chance, and a tree is twice as deep as the best one. */
enum { GROWTH_FACTOR = 4 };

uint64_t cost_class_units(const struct cost_class *class, enum cost_measure measure)
{
    return measure == COST_MOVED_BYTES ? class->asked_bytes : class->op_count + class->effects;
}

/* Returns what any op may spend, however few blocks there are: it is no growth. */
static uint64_t floor_of(enum cost_measure measure)
{
    static const uint64_t floors[COST_MEASURE_COUNT] = {
        [COST_CALLS] = 1, [COST_MOVED_BYTES] = 1, [COST_ACCESSES] = 64};
    return floors[measure];
}

/* True if the class has enough ops.  A cost of as many ops as there are blocks, as the growth of a
 * table, is no cost of one: so many ops are enough to spread it over. */
static bool has_enough_ops(const struct cost_class *class, uint32_t index)
{
    const uint64_t half = (UINT64_C(1) << index) / 2;
    return class->op_count >= CLASS_OPS_MIN && class->op_count >= half;
}

typedef unsigned __int128 wide;

/* *product *= factor; false: it is too large, and nobody can say. */
static bool multiply(wide *product, wide factor)
{
    return !__builtin_mul_overflow(*product, factor, product);
}

/* True if mean(to) > GROWTH_FACTOR * growth * max(mean(from), floor), without a division. */
static bool grows_faster(const struct cost_class *classes, enum cost_measure measure,
                         enum target_growth growth, uint32_t from_index, uint32_t to_index)
{
    const struct cost_class *from = &classes[from_index];
    const struct cost_class *to = &classes[to_index];
    const uint64_t from_units = cost_class_units(from, measure);
    const uint64_t to_units = cost_class_units(to, measure);
    const bool is_log = growth == TARGET_GROWTH_LOGARITHMIC;
    wide least = from_units;
    wide left = to->spent[measure];
    wide right = GROWTH_FACTOR;
    if (from_units == 0 || to_units == 0 || !multiply(&least, floor_of(measure))) {
        return false;
    }
    const wide from_spent = from->spent[measure] > least ? from->spent[measure] : least;
    const wide factor = growth == TARGET_GROWTH_LINEAR ? (wide)1 << (to_index - from_index)
                        : is_log                       ? to_index + 1
                                                       : 1;
    return multiply(&left, from_units) && multiply(&left, is_log ? from_index + 1 : 1) &&
           multiply(&right, factor) && multiply(&right, from_spent) && multiply(&right, to_units) &&
           left > right;
}

bool cost_classes_exceed(const struct cost_class classes[COST_CLASS_COUNT],
                         enum cost_measure measure, enum target_growth growth, uint32_t to,
                         uint32_t *from)
{
    CHECK_COSTLY(to < COST_CLASS_COUNT);
    if (growth == TARGET_GROWTH_UNDECLARED || !has_enough_ops(&classes[to], to)) {
        return false;
    }
    for (uint32_t i = CLASS_FIRST; i + CLASSES_APART_MIN <= to; i++) {
        if (has_enough_ops(&classes[i], i) && grows_faster(classes, measure, growth, i, to)) {
            *from = i;
            return true;
        }
    }
    return false;
}

/* --- which growth fits --- */

/* Two classes that can be compared are enough ops, far enough apart. */
static bool can_compare(const struct cost_class *classes, enum cost_measure measure)
{
    uint32_t first = COST_CLASS_COUNT, last = 0;
    for (uint32_t i = CLASS_FIRST; i < COST_CLASS_COUNT; i++) {
        if (has_enough_ops(&classes[i], i) && cost_class_units(&classes[i], measure) > 0) {
            first = first == COST_CLASS_COUNT ? i : first;
            last = i;
        }
    }
    return first + CLASSES_APART_MIN <= last;
}

static bool is_within(const struct cost_class *classes, enum cost_measure measure,
                      enum target_growth growth)
{
    uint32_t from;
    for (uint32_t to = CLASS_FIRST; to < COST_CLASS_COUNT; to++) {
        if (cost_classes_exceed(classes, measure, growth, to, &from)) {
            return false;
        }
    }
    return true;
}

enum cost_fit cost_classes_fit(const struct cost_class classes[COST_CLASS_COUNT],
                               enum cost_measure measure)
{
    if (!can_compare(classes, measure)) {
        return COST_FIT_UNSEEN;
    }
    return is_within(classes, measure, TARGET_GROWTH_CONSTANT)      ? COST_FIT_CONSTANT
           : is_within(classes, measure, TARGET_GROWTH_LOGARITHMIC) ? COST_FIT_LOGARITHMIC
           : is_within(classes, measure, TARGET_GROWTH_LINEAR)      ? COST_FIT_LINEAR
                                                                    : COST_FIT_FASTER;
}

const char *cost_fit_name(enum cost_fit fit)
{
    static const char *const names[COST_FIT_COUNT] = {"unseen", "constant", "logarithmic", "linear",
                                                      "faster"};
    CHECK(fit < COST_FIT_COUNT);
    return names[fit];
}
