#include "harness/generate/recording.h"

#include "harness/base/check.h"

/* "recording", as a number that no other part of a seed uses. */
#define RECORDING_CHANCES UINT64_C(0x7265636F7264696E)

void recording_init(struct recording *recording, uint64_t seed)
{
    random_init(&recording->random, random_derive(seed, RECORDING_CHANCES));
}

static bool make_drop(struct recording *recording, const struct model *model, struct op *op)
{
    const size_t count = model_recording_count(model);
    const bool is_due = count > 0 &&
                        random_chance(&recording->random, (uint32_t)count, RECORDING_DROP_PERIOD);
    if (!is_due && count < RECORDING_COUNT_MAX) {
        return false;
    }
    *op = op_make(OP_RECORD_DROP);
    op->ref = model_recording(model, (size_t)random_below(&recording->random, count));
    return true;
}

bool recording_next(struct recording *recording, const struct scenario_view *view, struct op *op)
{
    CHECK(view->host_count >= 1);
    if (!model_contract(view->hosts[0])->records) {
        return false;
    }
    const uint8_t host = (uint8_t)random_below(&recording->random, view->host_count);
    const struct model *model = view->hosts[host];
    if (model_open_recording(model) != OP_NONE) {
        *op = op_make(OP_RECORD_END);
        op->host = host;
        return random_chance(&recording->random, 1, RECORDING_LENGTH);
    }
    if (!make_drop(recording, model, op)) {
        *op = op_make(OP_RECORD);
        op->host = host;
        return random_chance(&recording->random, 1, RECORDING_PERIOD);
    }
    op->host = host;
    return true;
}
