/* Whether a device that does not do what it should makes the allocator break a promise: ops in one lane, and faults
 * slipped in between them beside those of the list. */
#include "fuzz/engine.h"
#include "fuzz/feedback.h"
#include "fuzz/finding.h"
#include "fuzz/player.h"
#include "fuzz/subject.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct input input;
    static struct player *player;
    if (player == NULL) {
        input_init(&input);
        player = player_create(subject());
    }
    input_decode(bytes, length, &input);
    if (input.faults.kinds == 0) {
        input.faults.kinds = FAULTING_ALL;
    }
    struct verdict verdict;
    feedback_begin();
    const struct run *run = player_play(player, &input, &feedback_listener, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(
            &(struct finding){"fuzz_faults", subject(), subject_name(), run_setup(run), run_ops(run), &verdict});
    }
    return 0;
}
