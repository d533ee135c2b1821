/* One execute as the open-source PJRT client does it, op by op: hold the inputs, allocate the
 * outputs, let outputs take over donated inputs, execute the program, leave inputs and outputs in
 * use until its event, release the holds.  When any step is refused all of it is dropped: holds are
 * released and the outputs freed. Source: openxla xla/pjrt/common_pjrt_client.cc and
 * abstract_tracked_device_buffer.h. */
#ifndef SCENARIOS_PRIVATE_LAUNCH_H
#define SCENARIOS_PRIVATE_LAUNCH_H

#include "harness/generate/scenario.h"

enum { LAUNCH_INPUT_COUNT_MAX = 16, LAUNCH_OUTPUT_COUNT_MAX = 16, LAUNCH_NOT_DONATED = 255 };

struct launch_output {
    uint64_t size_bytes;
    uint32_t op; /* set by the launch: the op that made it; OP_NONE before */
    uint8_t tag;
    /* the input that it takes over, or LAUNCH_NOT_DONATED; each input at most once */
    uint8_t donor;
};

/* Plain data.  The first group is the caller's, set before launch_begin; the second is the
 * launch's. */
struct launch {
    uint32_t program;
    uint64_t delay_ns; /* of the execution */
    uint16_t group;    /* of the execute op; output i has group + 1 + i */
    uint8_t flags;     /* of the execute op: OP_COLLECTIVE, OP_SPMD; outputs take OP_SPMD from it */
    uint8_t host;
    bool holds_inputs; /* false: an enqueue so quick that nobody else sees the holds */
    uint8_t input_count, output_count;
    uint32_t inputs[LAUNCH_INPUT_COUNT_MAX];
    struct launch_output outputs[LAUNCH_OUTPUT_COUNT_MAX];

    uint8_t phase, index; /* index within the phase */
    bool has_failed; /* dropped: no event; outputs are gone, but for donated ones, which live on as
                        the successor of their input, because a donation that is dropped loses
                        nothing */
    uint32_t event;  /* the op whose event ends the execution; OP_NONE before */
};

/* One more output. */
void launch_add_output(struct launch *launch, uint64_t size_bytes, uint8_t tag, uint8_t donor);
void launch_begin(struct launch *launch);

/* The next op.  False: the launch is over; read has_failed, event and outputs[]. */
bool launch_next(struct launch *launch, const struct scenario_view *view, struct op *op);

#endif
