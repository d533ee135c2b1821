#include "pod/keeper.h"

#include "harness/base/array.h"
#include "harness/base/check.h"

#include <stdlib.h>

/* The first answer to a request that sums decide. */
struct spmd_request {
    struct spmd_answer answer;
    uint64_t which, hash;
    uint64_t passed; /* bit per rank: it answered this one, or a later one of the group */
    uint32_t rank, op, step;
};

struct spmd_answers {
    const struct setup *setup;
    struct spmd_request *asked; /* asked_count of them */
    size_t asked_count, asked_capacity;
    struct answer_difference *differences; /* difference_count of them */
    size_t difference_count, difference_capacity;
};

struct spmd_answers *answers_create(const struct setup *setup)
{
    struct spmd_answers *answers = calloc(1, sizeof *answers);
    CHECK(answers != NULL);
    answers->setup = setup;
    return answers;
}

void answers_destroy(struct spmd_answers *answers)
{
    free(answers->asked);
    free(answers->differences);
    free(answers);
}

static struct answer_place make_place(const struct spmd_request *asked)
{
    return (struct answer_place){
        .rank = asked->rank, .op = asked->op, .step = asked->step, .result = asked->answer.result};
}

/* Notes a difference: the lower rank is named first, whichever came first. */
static void note_difference(struct spmd_answers *answers, const struct spmd_request *one,
                            const struct spmd_request *two)
{
    const struct spmd_request *first = one->rank < two->rank ? one : two;
    const struct spmd_request *other = first == one ? two : one;
    for (size_t i = 0; i < answers->difference_count; i++) {
        struct answer_difference *difference = &answers->differences[i];
        if (difference->group == first->answer.group && difference->first.rank == first->rank &&
            difference->other.rank == other->rank) {
            difference->count++;
            return;
        }
    }
    answers->differences = array_grown(answers->differences, answers->difference_count,
                                       &answers->difference_capacity, sizeof *answers->differences);
    answers->differences[answers->difference_count++] = (struct answer_difference){
        .group = first->answer.group,
        .first = make_place(first),
        .other = make_place(other),
        .count = 1};
}

static bool is_same_request(const struct spmd_request *one, const struct spmd_request *other)
{
    return one->answer.group == other->answer.group && one->which == other->which &&
           one->hash == other->hash && one->answer.fits == other->answer.fits;
}

/* Drops the requests of the group that no coming rank will answer any more. */
static void drop_passed(struct spmd_answers *answers, const struct spmd_request *by,
                        uint64_t coming)
{
    const uint64_t members = setup_members(answers->setup, by->answer.group) & coming;
    size_t kept = 0;
    for (size_t i = 0; i < answers->asked_count; i++) {
        struct spmd_request *asked = &answers->asked[i];
        const bool is_of_group = asked->answer.group == by->answer.group;
        asked->passed |= is_of_group && asked->which <= by->which ? UINT64_C(1) << by->rank : 0;
        if (!is_of_group || (members & ~asked->passed) != 0) {
            answers->asked[kept++] = *asked;
        }
    }
    answers->asked_count = kept;
}

void answers_take(struct spmd_answers *answers, uint32_t rank, uint32_t step,
                  const struct pod_frame *frame, uint64_t coming)
{
    const struct spmd_request now = {.answer = answer_unpack(frame->numbers[0]),
                                     .which = frame->numbers[1],
                                     .hash = frame->numbers[2],
                                     .passed = 0,
                                     .rank = rank,
                                     .op = frame->op,
                                     .step = step};
    bool is_first = now.answer.decides;
    for (size_t i = 0; i < answers->asked_count && is_first; i++) {
        const struct spmd_request *first = &answers->asked[i];
        if (is_same_request(first, &now)) {
            is_first = false;
            if (first->answer.result != now.answer.result) {
                note_difference(answers, first, &now);
            }
        }
    }
    if (is_first) {
        answers->asked = array_grown(answers->asked, answers->asked_count, &answers->asked_capacity,
                                     sizeof *answers->asked);
        answers->asked[answers->asked_count++] = now;
    }
    drop_passed(answers, &now, coming);
}

size_t answers_difference_count(const struct spmd_answers *answers)
{
    return answers->difference_count;
}

const struct answer_difference *answers_difference_at(const struct spmd_answers *answers,
                                                      size_t index)
{
    CHECK(index < answers->difference_count);
    return &answers->differences[index];
}
