#include "fuzz/play.h"

#include "fuzz/feedback.h"
#include "fuzz/finding.h"
#include "fuzz/player.h"
#include "fuzz/subject.h"

void play_input(const char *fuzz_target, const uint8_t *bytes, size_t length, bool slips_faults)
{
    static struct input input;
    static struct player *player;
    if (player == NULL) {
        input_init(&input);
        player = player_create(subject());
    }
    input_decode(bytes, length, &input);
    if (!slips_faults) {
        input.faults.kinds = 0;
    } else if (input.faults.kinds == 0) {
        input.faults.kinds = FAULTING_ALL;
    }
    struct verdict verdict;
    feedback_begin();
    const struct run *run = player_play(player, &input, &feedback_listener, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct finding){fuzz_target, subject(), subject_name(), run_setup(run), run_ops(run), &verdict});
    }
}
