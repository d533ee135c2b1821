/* Whether a list of ops makes the allocator break a promise: one lane, the faults that are ops of the list, every rule. */
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
    input.faults = (struct fault_wish){0};
    struct verdict verdict;
    feedback_begin();
    const struct run *run = player_play(player, &input, &feedback_listener, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct finding){"fuzz_ops", subject(), subject_name(), run_setup(run), run_ops(run), &verdict});
    }
    return 0;
}
