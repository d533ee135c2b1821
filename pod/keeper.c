#include "pod/keeper.h"

#include "campaign/base/clock.h"
#include "campaign/process/child.h"
#include "harness/base/array.h"
#include "harness/base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time for which all wait for a rank that is still to be started. */
#define COMING_NS UINT64_C(60000000000)

/* A collective that not all members have joined. */
struct keeper_meeting {
    uint16_t group;
    uint64_t which;
    uint64_t members, joined;
    uint64_t answered;          /* of those that joined: they were told that not all come */
    uint64_t latest_ns;         /* of the members' own times */
    uint64_t first_ns, last_ns; /* when the first and the last so far joined, by clock_now_ns() */
    struct {
        uint32_t op, step;
    } at[OP_HOST_COUNT_MAX];
};

struct keeper {
    struct keeper_plan plan;
    uint32_t rank_count;
    struct keeper_rank ranks[OP_HOST_COUNT_MAX];
    struct keeper_meeting *meetings; /* meeting_count of them */
    size_t meeting_count, meeting_capacity;
    struct keeper_wait *waits; /* wait_count of them */
    size_t wait_count, wait_capacity;
    struct spmd_answers *answers;
    uint64_t late_count;
    uint64_t begun_ns; /* 0 = not all are there */
    bool is_failed;
};

static uint64_t bit_of(uint32_t rank)
{
    return UINT64_C(1) << rank;
}

struct keeper *keeper_create(const struct keeper_plan *plan)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    CHECK(keeper != NULL);
    keeper->plan = *plan;
    keeper->answers = answers_create(plan->setup);
    keeper->rank_count = plan->setup->host_count;
    CHECK(keeper->rank_count <= OP_HOST_COUNT_MAX);
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        keeper->ranks[i].in = keeper->ranks[i].out = -1;
        keeper->ranks[i].heard_ns = clock_now_ns();
    }
    return keeper;
}

void keeper_destroy(struct keeper *keeper)
{
    answers_destroy(keeper->answers);
    free(keeper->meetings);
    free(keeper->waits);
    free(keeper);
}

void keeper_connect(struct keeper *keeper, uint32_t rank, int in, int out)
{
    CHECK(rank < keeper->rank_count);
    keeper->ranks[rank].in = in;
    keeper->ranks[rank].out = out;
    keeper->ranks[rank].heard_ns = clock_now_ns();
}

/* --- the order of arrivals --- */

static void note_line(struct keeper *keeper, const char *word, uint32_t rank, uint32_t op)
{
    char line[64];
    const int length = snprintf(line, sizeof line, "%s %" PRIu32 " %" PRIu32 "\n", word, rank, op);
    CHECK(length > 0 && (size_t)length < sizeof line);
    keeper->is_failed |= !file_write_all(keeper->plan.arrivals, line, (size_t)length);
}

/* --- answers --- */

static void close_rank(struct keeper *keeper, uint32_t rank)
{
    struct keeper_rank *gone = &keeper->ranks[rank];
    gone->state = gone->state == RANK_ENDED ? RANK_ENDED : RANK_DEAD;
    gone->in = -1;
    gone->is_waiting = false;
}

/* A rank that is stopped reads nothing, but few answers are ever on their way to it: one for each
 * collective that it joined. */
static void answer(struct keeper *keeper, enum frame_kind kind,
                   const struct keeper_meeting *meeting, uint32_t rank)
{
    struct keeper_rank *to = &keeper->ranks[rank];
    struct pod_frame frame = frame_make(kind, rank, 0);
    frame.numbers[0] = meeting->group;
    frame.numbers[1] = meeting->which;
    frame.numbers[2] = meeting->latest_ns;
    CHECK(to->unanswered_count > 0);
    to->unanswered_count--;
    to->is_waiting = to->is_waiting && to->unanswered_count > 0;
    to->heard_ns = clock_now_ns(); /* from now on it can make progress again */
    if (to->state == RANK_RUNNING) {
        (void)frame_send(to->out, &frame); /* of one that is gone its own file tells */
    }
}

/* --- arrivals --- */

static struct keeper_meeting *find_meeting(struct keeper *keeper, uint16_t group, uint64_t which,
                                           uint32_t rank)
{
    const uint64_t members = setup_members(keeper->plan.setup, group);
    const uint64_t with = (members & bit_of(rank)) != 0 ? members : bit_of(rank);
    for (size_t i = 0; i < keeper->meeting_count; i++) {
        struct keeper_meeting *meeting = &keeper->meetings[i];
        if (meeting->group == group && meeting->which == which && meeting->members == with) {
            return meeting;
        }
    }
    keeper->meetings = array_grown(keeper->meetings, keeper->meeting_count,
                                   &keeper->meeting_capacity, sizeof *keeper->meetings);
    struct keeper_meeting *begun = &keeper->meetings[keeper->meeting_count++];
    *begun = (struct keeper_meeting){
        .group = group, .which = which, .members = with, .first_ns = clock_now_ns()};
    return begun;
}

/* Notes how far the ranks that had given up this meeting had come by then. */
static void note_late(struct keeper *keeper, const struct keeper_meeting *meeting)
{
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        if ((meeting->answered & bit_of(i)) != 0) {
            note_line(keeper, "reached", i, keeper->ranks[i].op);
        }
    }
    keeper->late_count += meeting->answered != 0;
}

static void end_meeting(struct keeper *keeper, struct keeper_meeting *meeting)
{
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        if ((meeting->joined & ~meeting->answered & bit_of(i)) != 0) {
            answer(keeper, FRAME_GO, meeting, i);
        }
    }
    const size_t index = (size_t)(meeting - keeper->meetings);
    memmove(meeting, meeting + 1, (--keeper->meeting_count - index) * sizeof *meeting);
}

static void take_join(struct keeper *keeper, uint32_t rank, const struct pod_frame *frame)
{
    struct keeper_rank *from = &keeper->ranks[rank];
    struct keeper_meeting *meeting = find_meeting(keeper, (uint16_t)frame->numbers[0],
                                                  frame->numbers[1], rank);
    if ((meeting->joined & bit_of(rank)) != 0) {
        return; /* said twice */
    }
    note_late(keeper, meeting);
    note_line(keeper, "join", rank, frame->op);
    const uint64_t now_ns = clock_now_ns();
    meeting->joined |= bit_of(rank);
    meeting->at[rank].op = frame->op;
    meeting->at[rank].step = from->step;
    meeting->latest_ns = frame->numbers[2] > meeting->latest_ns ? frame->numbers[2]
                                                                : meeting->latest_ns;
    from->unanswered_count++;
    if (meeting->joined == meeting->members) {
        from->awaited_ns += meeting->last_ns == 0 ? 0 : now_ns - meeting->last_ns;
        end_meeting(keeper, meeting);
    } else {
        meeting->last_ns = now_ns;
    }
}

/* --- what a rank says --- */

static void refuse(struct keeper *keeper, uint32_t rank, const char *why)
{
    struct pod_frame frame = frame_make(FRAME_REFUSED, rank, 0);
    frame_set_text(&frame, why);
    (void)frame_send(keeper->ranks[rank].out, &frame);
    keeper->ranks[rank].failed = frame;
    close_rank(keeper, rank);
}

static void take_hello(struct keeper *keeper, uint32_t rank, const struct pod_frame *frame)
{
    struct keeper_rank *from = &keeper->ranks[rank];
    if (from->state != RANK_COMING) {
        return;
    }
    if (frame->numbers[0] != keeper->plan.hash || frame->numbers[1] != keeper->rank_count) {
        refuse(keeper, rank, "it has another list, or other options, than the meeting point");
        return;
    }
    from->state = RANK_RUNNING;
    from->process = frame->numbers[2];
    if (keeper->begun_ns != 0) { /* the others did not wait for it */
        const struct pod_frame begin = frame_make(FRAME_BEGIN, rank, 0);
        (void)frame_send(from->out, &begin);
    }
}

static void take_oom(struct keeper_rank *from, const struct pod_frame *frame)
{
    if (frame->numbers[0] > VERDICT_DISPUTED) {
        return; /* no rank of ours says so */
    }
    from->oom_count++;
    from->ooms_by_verdict[frame->numbers[0]]++;
    if (from->first_oom.kind == FRAME_NONE) {
        from->first_oom = *frame;
    }
}

static void take_finding(struct keeper_rank *from, const struct pod_frame *frame)
{
    if (from->finding_count++ == 0) {
        from->first_finding = *frame;
    }
}

static void take_answer(struct keeper *keeper, uint32_t rank, const struct pod_frame *frame)
{
    uint64_t coming = 0;
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        coming |= keeper->ranks[i].state <= RANK_RUNNING ? bit_of(i) : 0;
    }
    answers_take(keeper->answers, rank, keeper->ranks[rank].step, frame, coming);
}

void keeper_take(struct keeper *keeper, uint32_t rank, const struct pod_frame *frame)
{
    struct keeper_rank *from = &keeper->ranks[rank];
    const uint64_t now_ns = clock_now_ns();
    if (frame->kind == FRAME_STOPPED) { /* what it does not do from here on is silence */
        from->heard_ns = from->heard_ns > now_ns ? now_ns : from->heard_ns;
        return;
    }
    from->heard_ns = now_ns;
    from->is_silent = false;
    switch ((enum frame_kind)frame->kind) {
    case FRAME_HELLO:
        take_hello(keeper, rank, frame);
        return;
    case FRAME_AT:
        from->op = frame->op;
        from->step = (uint32_t)frame->numbers[0];
        from->heard_ns = delay_after_ns(from->heard_ns, frame->numbers[1]);
        return;
    case FRAME_ALIVE:
        return;
    case FRAME_MISSED:
        from->first_missed = from->first_missed.kind == FRAME_NONE ? *frame : from->first_missed;
        return;
    case FRAME_JOIN:
        take_join(keeper, rank, frame);
        return;
    case FRAME_WAIT:
        from->is_waiting = from->unanswered_count > 0;
        return;
    case FRAME_OOM:
        take_oom(from, frame);
        return;
    case FRAME_ANSWER:
        take_answer(keeper, rank, frame);
        return;
    case FRAME_FINDING:
        take_finding(from, frame);
        return;
    case FRAME_FAILED:
        from->failed = *frame;
        return;
    case FRAME_ENDED:
        from->state = RANK_ENDED;
        return;
    case FRAME_DEATH:
        from->death = *frame;
        close_rank(keeper, rank);
        return;
    default: /* what only a keeper says */
        return;
    }
}

void keeper_hear(struct keeper *keeper, uint32_t rank)
{
    struct keeper_rank *from = &keeper->ranks[rank];
    struct pod_frame frame;
    switch (frame_hear(from->in, &from->inbox, &frame)) {
    case FRAME_NOTHING:
        return;
    case FRAME_HEARD:
        keeper_take(keeper, rank, &frame);
        return;
    case FRAME_FOREIGN:
        refuse(keeper, rank, "what it sent is no message of a rank");
        return;
    case FRAME_CLOSED:
        close_rank(keeper, rank);
        return;
    }
}

/* --- waiting in vain --- */

/* The reason why a meeting is in vain: who is at fault, without members that may still come. */
struct reason {
    enum wait_cause cause;
    uint64_t missing;
};

static void note_wait(struct keeper *keeper, const struct keeper_meeting *meeting, uint32_t rank,
                      const struct reason *reason)
{
    const uint64_t missing = reason->missing;
    const enum wait_cause cause = reason->cause;
    for (size_t i = 0; i < keeper->wait_count; i++) {
        struct keeper_wait *wait = &keeper->waits[i];
        if (wait->rank == rank && wait->group == meeting->group && wait->missing == missing &&
            wait->cause == cause) {
            wait->count++;
            return;
        }
    }
    keeper->waits = array_grown(keeper->waits, keeper->wait_count, &keeper->wait_capacity,
                                sizeof *keeper->waits);
    keeper->waits[keeper->wait_count++] = (struct keeper_wait){.rank = rank,
                                                               .op = meeting->at[rank].op,
                                                               .step = meeting->at[rank].step,
                                                               .group = meeting->group,
                                                               .missing = missing,
                                                               .cause = cause,
                                                               .since_ns = clock_now_ns() -
                                                                           keeper->begun_ns,
                                                               .count = 1};
}

static void give_up(struct keeper *keeper, struct keeper_meeting *meeting,
                    const struct reason *reason)
{
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        if ((meeting->joined & ~meeting->answered & bit_of(i)) != 0) {
            note_wait(keeper, meeting, i, reason);
            meeting->answered |= bit_of(i);
            answer(keeper, FRAME_LOST, meeting, i);
        }
    }
}

/* Who is in which state: a bit per rank. */
struct states {
    uint64_t dead, ended, silent, waiting;
};

static struct states find_states(const struct keeper *keeper)
{
    struct states states = {0};
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        const struct keeper_rank *rank = &keeper->ranks[i];
        states.dead |= rank->state == RANK_DEAD ? bit_of(i) : 0;
        states.ended |= rank->state == RANK_ENDED ? bit_of(i) : 0;
        states.silent |= rank->state <= RANK_RUNNING && rank->is_silent ? bit_of(i) : 0;
        states.waiting |= rank->state == RANK_RUNNING && rank->is_waiting ? bit_of(i) : 0;
    }
    return states;
}

/* Finds whom all of these wait for, whom those wait for, and so on; they are included. */
static uint64_t find_awaited(const struct keeper *keeper, uint64_t ranks, uint64_t waiting)
{
    for (uint64_t before = 0; before != ranks;) {
        before = ranks;
        for (size_t i = 0; i < keeper->meeting_count; i++) {
            const struct keeper_meeting *meeting = &keeper->meetings[i];
            const bool is_awaited = (meeting->joined & ~meeting->answered & ranks & waiting) != 0;
            ranks |= is_awaited ? meeting->members & ~meeting->joined : 0;
        }
    }
    return ranks;
}

/* False: a member that did not come may still. */
static bool is_in_vain(const struct keeper *keeper, const struct keeper_meeting *meeting,
                       struct reason *reason)
{
    const uint64_t missing = meeting->members & ~meeting->joined;
    const struct states states = find_states(keeper);
    const uint64_t those[] = {[WAIT_FOR_DEAD] = states.dead,
                              [WAIT_FOR_ENDED] = states.ended,
                              [WAIT_FOR_SILENT] = states.silent};
    for (unsigned i = 0; i < WAIT_FOR_EACH; i++) {
        if ((missing & those[i]) != 0) {
            *reason = (struct reason){(enum wait_cause)i, missing & those[i]};
            return true;
        }
    }
    *reason = (struct reason){WAIT_FOR_EACH, missing};
    return (find_awaited(keeper, missing, states.waiting) & ~states.waiting) == 0;
}

/* Gives up meetings that wait in vain; as one that ends may make others vain, asks again. */
static void give_up_all(struct keeper *keeper)
{
    for (size_t i = 0; i < keeper->meeting_count; i++) {
        struct keeper_meeting *meeting = &keeper->meetings[i];
        struct reason reason;
        if ((meeting->joined & ~meeting->answered) != 0 && is_in_vain(keeper, meeting, &reason) &&
            reason.cause != WAIT_FOR_EACH) {
            give_up(keeper, meeting, &reason);
        }
    }
}

/* Ends the meetings that wait for each other, all at once: none of them is the first. */
static void end_circle(struct keeper *keeper)
{
    struct reason reason;
    uint64_t circle = 0; /* bit per meeting; a circle of more of them ends in several rounds */
    const size_t count = keeper->meeting_count < 64 ? keeper->meeting_count : 64;
    for (size_t i = 0; i < count; i++) {
        const struct keeper_meeting *meeting = &keeper->meetings[i];
        const bool is_in = (meeting->joined & ~meeting->answered) != 0 &&
                           is_in_vain(keeper, meeting, &reason) && reason.cause == WAIT_FOR_EACH;
        circle |= is_in ? UINT64_C(1) << i : 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct keeper_meeting *meeting = &keeper->meetings[i];
        reason = (struct reason){WAIT_FOR_EACH, meeting->members & ~meeting->joined};
        if ((circle >> i & 1) != 0) {
            give_up(keeper, meeting, &reason);
        }
    }
}

static void look_for_silence(struct keeper *keeper)
{
    const uint64_t now_ns = clock_now_ns();
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        struct keeper_rank *rank = &keeper->ranks[i];
        const uint64_t bound_ns = rank->in >= 0 || keeper->plan.patience_ns > COMING_NS
                                      ? keeper->plan.patience_ns
                                      : COMING_NS;
        const bool is_to_begin = rank->state == RANK_RUNNING && keeper->begun_ns == 0;
        if (rank->state <= RANK_RUNNING && !rank->is_waiting && !is_to_begin &&
            now_ns > rank->heard_ns && now_ns - rank->heard_ns > bound_ns) {
            rank->is_silent = true;
        }
    }
}

/* Lets all ranks begin when none is still to come; one that died or never came is left out. */
static void begin_all(struct keeper *keeper)
{
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        if (keeper->ranks[i].state == RANK_COMING && !keeper->ranks[i].is_silent) {
            return;
        }
    }
    keeper->begun_ns = clock_now_ns();
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        const struct pod_frame frame = frame_make(FRAME_BEGIN, i, 0);
        if (keeper->ranks[i].state == RANK_RUNNING) {
            keeper->ranks[i].heard_ns = keeper->begun_ns;
            (void)frame_send(keeper->ranks[i].out, &frame);
        }
    }
}

void keeper_decide(struct keeper *keeper)
{
    look_for_silence(keeper);
    if (keeper->begun_ns == 0) {
        begin_all(keeper);
        return;
    }
    give_up_all(keeper);
    end_circle(keeper);
}

bool keeper_is_over(const struct keeper *keeper)
{
    for (uint32_t i = 0; i < keeper->rank_count; i++) {
        const struct keeper_rank *rank = &keeper->ranks[i];
        if (rank->state <= RANK_RUNNING && !rank->is_silent) {
            return false;
        }
    }
    return true;
}

/* --- for who tells of it --- */

uint32_t keeper_rank_count(const struct keeper *keeper)
{
    return keeper->rank_count;
}

struct keeper_rank *keeper_rank(struct keeper *keeper, uint32_t rank)
{
    CHECK(rank < keeper->rank_count);
    return &keeper->ranks[rank];
}

size_t keeper_wait_count(const struct keeper *keeper)
{
    return keeper->wait_count;
}

const struct keeper_wait *keeper_wait_at(const struct keeper *keeper, size_t index)
{
    CHECK(index < keeper->wait_count);
    return &keeper->waits[index];
}

const struct spmd_answers *keeper_answers(const struct keeper *keeper)
{
    return keeper->answers;
}

uint64_t keeper_late_count(const struct keeper *keeper)
{
    return keeper->late_count;
}

bool keeper_is_failed(const struct keeper *keeper)
{
    return keeper->is_failed;
}
