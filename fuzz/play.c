#include "fuzz/play.h"

#include "fuzz/finding.h"
#include "fuzz/player.h"
#include "fuzz/regrets.h"
#include "fuzz/subject.h"
#include "harness/base/check.h"
#include "harness/base/hash.h"
#include "harness/model/model.h"
#include "harness/run/run_state.h"
#include "harness/run/trial.h"
#include "harness/trial/again.h"
#include "harness/trial/related.h"

#include <string.h>

/* One input in so many is run again: it costs as much as the first time, and more for guarded host
 * memory. */
enum { AGAIN_ONE_IN = 64, DIGEST_SHIFT = 20 };
/* One of so many of these is held against its related lists, which takes three runs more. */
enum { RELATED_ONE_IN = 4 };

/* Which ones depends on their bytes alone: played by itself an input is sampled as well, and what a
 * target does that cannot be replayed says nothing. */
static bool is_sampled(const uint8_t *bytes, size_t length)
{
    uint64_t digest = length;
    for (size_t i = 0; i + sizeof digest <= length; i += sizeof digest) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        digest = hash_word(digest, word);
    }
    return (digest >> DIGEST_SHIFT) % AGAIN_ONE_IN == 0;
}

static _Noreturn void end_trial(const char *fuzz_target, const struct trial *trial,
                                const struct verdict *verdict)
{
    finding_end(&(struct finding){fuzz_target, subject(), subject_name(), &trial->setup,
                                  &trial->ops, verdict});
}

/* Ends the trial when a list that broke nothing breaks something on another run. */
static void check_again(const char *fuzz_target, const struct run *run)
{
    struct trial trial = {.first = {.kind = VERDICT_NONE}};
    struct verdict verdict;
    trial_collect(&trial, run);
    if (again_breaks_soon(subject(), &trial, &verdict) ||
        (trial.digest % RELATED_ONE_IN == 0 && related_breaks(subject(), &trial, &verdict))) {
        end_trial(fuzz_target, &trial, &verdict);
    }
    trial_deinit(&trial);
}

static void check_regrets(const char *fuzz_target, const struct run *run)
{
    struct trial trial;
    if (regrets_find(subject(), run, regrets_forbidden(), &trial)) {
        end_trial(fuzz_target, &trial, &trial.first);
    }
}

/* Checks our own account of the device, on which the judging rests. */
static void check_models(const struct run *run)
{
    for (uint32_t host = 0; host < run_setup(run)->host_count; host++) {
        CHECK(model_invariants_hold(run_model(run, (uint8_t)host)));
    }
}

void play_input(const char *fuzz_target, const uint8_t *bytes, size_t length, bool slips_faults)
{
    static struct input input;
    static struct player *player;
    if (player == NULL) {
        input_init(&input);
        player = player_create(subject());
        if (regrets_forbidden() == 0) {
            player_judge_promises_only(player);
        }
    }
    input_decode(bytes, length, &input);
    if (!slips_faults) {
        input.faults.kinds = 0;
    } else if (input.faults.kinds == 0) {
        input.faults.kinds = FAULTING_ALL;
    }
    struct verdict verdict;
    const struct run *run = player_play(player, &input, NULL, &verdict);
    if (run != NULL && run_is_broken(run)) {
        finding_end(&(struct finding){fuzz_target, subject(), subject_name(), run_setup(run),
                                      run_ops(run), &verdict});
    }
    if (run == NULL) {
        return;
    }
    check_models(run);
    check_regrets(fuzz_target, run);
    if (is_sampled(bytes, length)) {
        check_again(fuzz_target, run);
    }
}
