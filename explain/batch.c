/* How near the job is: the largest batch that fits, of those that were run. */
#include "diagnosis/largest_batch.h"
#include "explain/private/explain_parts.h"
#include "harness/base/json.h"
#include "harness/base/size.h"
#include "targets/plugin.h"

#include <inttypes.h>

/* All sizes of one explanation together: about a second. */
#define OPS_MAX (UINT64_C(1) << 17)

static void append_in_words(const struct largest_batch *found, struct writing *text)
{
    char peak[SIZE_TEXT_BYTES], capacity[SIZE_TEXT_BYTES];
    writing_append(text, "\nThe largest batch, an estimate\n");
    if (found->fits == 0) {
        writing_append_format(text,
                              "  None that was run fits: at %" PRIu64
                              " %% of the batch memory runs out, too.\n",
                              found->fails);
    } else {
        size_print_field(found->row.peak_bytes, peak);
        size_print_field(found->row.capacity_bytes, capacity);
        writing_append_format(
            text, "  %" PRIu64 " %% of the batch of this list fits: run, peak %s of %s.",
            found->fits, peak, capacity);
        if (found->fails > 0) {
            writing_append_format(text, "  %" PRIu64 " %% does not.", found->fails);
        }
        writing_append(text, "\n");
    }
    writing_append(
        text,
        "  What lives within a step is taken to grow with the batch, and nothing else; only what the "
        "list has was run.\n");
}

static void append_in_json(const struct largest_batch *found, struct writing *text)
{
    json_open(text, "largest_batch");
    json_add_boolean(text, "estimate", true);
    json_add_number(text, "fits_percent", found->fits);
    json_add_number(text, "fails_percent", found->fails);
    if (found->fits > 0) {
        json_add_number(text, "peak_bytes", found->row.peak_bytes);
        json_add_number(text, "capacity_bytes", found->row.capacity_bytes);
    }
    json_close(text);
}

/* The target is run while the run that is explained is there, as remedies are. */
void explain_largest_batch(struct explanation *explanation)
{
    const struct recording *recording = explanation->recording;
    struct largest_batch found;
    if (explanation->history->has_lanes || plugin_is_named(recording->setup.target) ||
        recording->view != IMPORT_EVENTS || explain_capacity_is_assumed(explanation) ||
        explanation->verdict->kind == VERDICT_BROKEN ||
        explanation->verdict->kind == VERDICT_PREMATURE ||
        !largest_batch_find(recording->target, &recording->setup, &recording->ops, OPS_MAX,
                            &found)) {
        return;
    }
    if (explanation->is_json) {
        append_in_json(&found, &explanation->text);
    } else {
        append_in_words(&found, &explanation->text);
    }
}
