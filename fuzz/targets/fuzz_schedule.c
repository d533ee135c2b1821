/* Looks for an interleaving of the calls of several clients that makes the allocator break a
 * promise.  An input is ops, and bytes that choose who goes on. */
#include "fuzz/engine.h"
#include "fuzz/feedback.h"
#include "fuzz/finding.h"
#include "fuzz/lane_player.h"
#include "fuzz/subject.h"
#include "harness/run/trial.h"

#include <stdio.h>
#include <unistd.h>

/* A fuzzer of schedules that runs none must not look as if it found nothing. */
static _Noreturn void refuse_input(void)
{
    (void)fprintf(
        stderr,
        "fuzz_schedule: target '%s' cannot be run with lanes; it must be thread-safe and queue frees\n",
        subject_name());
    _exit(2); /* engines take a plain exit for a crash */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static struct input input;
    static struct lane_player *player;
    struct trial trial;
    if (player == NULL) {
        input_init(&input);
        player = lane_player_create(subject(), subject_name());
    }
    input_decode(bytes, length, &input);
    feedback_begin();
    const enum lane_player_result result = lane_player_play(player, &input, &feedback_listener,
                                                            &trial);
    if (result == LANE_PLAYER_BROKEN) {
        finding_end(&(struct play_finding){"fuzz_schedule", subject(), subject_name(), &trial.setup,
                                           &trial.ops, &trial.first});
    }
    if (result == LANE_PLAYER_CANNOT) {
        refuse_input();
    }
    if (result == LANE_PLAYER_KEPT) {
        feedback_take_schedule(&trial.ops);
        trial_deinit(&trial);
    }
    return 0;
}
