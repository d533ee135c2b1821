/* Even: what the fullest host holds at the end is spread, so that each host holds the same. */
#include "diagnosis/private/variant.h"

#include "harness/base/size.h"

#include <stdio.h>

/* The memory that is live on each host at the end. */
struct shares {
    uint64_t bytes[OP_HOST_COUNT_MAX];
    uint64_t mean_bytes;
    uint8_t fullest;
};

static bool is_there_at_end(const struct remedy_case *given, size_t i)
{
    const struct op *op = &given->ops->ops[i];
    const bool makes = (op->kind == OP_ALLOC || op->kind == OP_OUTPUT);
    return makes && ((given->lives.lives[i].root == i && given->lives.lives[i].end == OP_NONE) ||
                     i + 1 == given->ops->count);
}

static void measure_shares(const struct remedy_case *given, struct shares *shares)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        const uint64_t bytes = is_there_at_end(given, i) ? op->size_bytes : 0;
        shares->bytes[op->host] += bytes;
        sum += bytes;
        if (shares->bytes[op->host] > shares->bytes[shares->fullest]) {
            shares->fullest = op->host;
        }
    }
    shares->mean_bytes = sum / given->setup->host_count;
}

static bool even_apply(const struct remedy_case *given, uint64_t parameter,
                       struct remedy_result *result)
{
    struct shares shares = {0};
    struct remedy_sizes sizes;
    (void)parameter;
    measure_shares(given, &shares);
    const uint64_t most = shares.bytes[shares.fullest];
    if (given->setup->host_count < 2 || shares.mean_bytes == 0 || most <= shares.mean_bytes) {
        snprintf(result->note, sizeof result->note, "no host holds more than the others");
        return false;
    }
    const double share = (double)shares.mean_bytes / (double)most;
    remedy_sizes_init(&sizes, given, &result->ops);
    for (size_t i = 0; i < given->ops->count; i++) {
        const struct op *op = &given->ops->ops[i];
        if (op->host == shares.fullest && is_there_at_end(given, i)) {
            const uint64_t bytes = (uint64_t)((double)op->size_bytes * share);
            remedy_sizes_set(&sizes, i, bytes > 0 ? bytes : 1);
        }
    }
    snprintf(result->note, sizeof result->note, "host %u holds %s less, as much as the mean",
             shares.fullest, size_text_of(most - shares.mean_bytes).text);
    return sizes.changed_count > 0;
}

const struct remedy remedy_even = {
    .name = "even",
    .summary = "what the fullest host holds is spread evenly over all hosts",
    .assumes = "The work of that host divides evenly; what the others get more is not counted.",
    .is_estimate = true,
    .search = REMEDY_EACH,
    .apply = even_apply,
};
