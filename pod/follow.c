/* A rank that meets the keeper elsewhere: its process speaks through this one. */
#include "campaign/base/interrupt.h"
#include "pod/member.h"
#include "pod/pod.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = 20 };
#define CONNECT_NS UINT64_C(60000000000)

struct following {
    const struct pod_plan *plan;
    struct member member;
    int keeper; /* the socket */
    struct frame_inbox from_keeper, from_rank;
    enum exit_code code; /* of what the rank said */
    bool has_begun;      /* the rank has said who it is: what comes before that is no rank's */
    bool has_ended;      /* the keeper has heard that its list is over: it may leave */
    bool is_over;
};

static void take_worse(struct following *following, enum exit_code code)
{
    following->code = exit_code_worse(following->code, code);
}

static void note_frame(struct following *following, const struct pod_frame *frame)
{
    if (frame->kind == FRAME_FINDING) {
        take_worse(following, frame->numbers[0] == VERDICT_DISPUTED ? EXIT_HARNESS : EXIT_BROKEN);
    } else if (frame->kind == FRAME_OOM && frame->numbers[0] == VERDICT_UNKNOWN) {
        take_worse(following, EXIT_UNKNOWN);
    } else if (frame->kind == FRAME_DEATH && frame->numbers[0] == RANK_CRASHED) {
        take_worse(following, EXIT_BROKEN);
    } else if (frame->kind == FRAME_FAILED ||
               (frame->kind == FRAME_DEATH && frame->numbers[0] == RANK_FAULTY)) {
        take_worse(following, EXIT_HARNESS);
    }
}

static void say(struct following *following, const struct pod_frame *frame)
{
    if (frame->kind == FRAME_NONE) {
        return;
    }
    note_frame(following, frame);
    if (frame_send(following->keeper, frame)) {
        following->has_begun = following->has_begun || frame->kind == FRAME_HELLO;
        following->has_ended = following->has_ended || frame->kind == FRAME_ENDED;
        return;
    }
    if (following->is_over) {
        return;
    }
    following->is_over = true;
    if (following->has_ended) {
        return;
    }
    take_worse(following, message_fail(EXIT_HARNESS,
                                       "--meet %s: the meeting point is gone; rank %" PRIu32
                                       " ended at op %" PRIu32 ", and its ops are in %s",
                                       following->plan->meet, following->plan->rank, frame->op,
                                       following->plan->directory));
}

static void take_end(struct following *following)
{
    const struct pod_frame death = member_end(&following->member);
    say(following, &death);
    following->is_over = true;
}

static void hear_rank(struct following *following)
{
    struct pod_frame frame;
    const enum frame_sound sound = frame_hear(following->member.child.answers,
                                              &following->from_rank, &frame);
    if (sound == FRAME_HEARD) {
        say(following, &frame);
    } else if (sound != FRAME_NOTHING) {
        take_end(following);
    }
}

static void end_rank(struct following *following, bool is_silent)
{
    const struct pod_frame death = member_kill(&following->member, is_silent);
    following->is_over = true;
    say(following, &death);
}

static void hear_keeper(struct following *following)
{
    struct pod_frame frame;
    const enum frame_sound sound = frame_hear(following->keeper, &following->from_keeper, &frame);
    if (sound == FRAME_NOTHING) {
        return;
    }
    if (sound != FRAME_HEARD && following->has_ended) {
        take_end(following);
    } else if (sound != FRAME_HEARD) {
        take_worse(following,
                   message_fail(EXIT_HARNESS,
                                "--meet %s: the meeting point is gone; the ops of rank %" PRIu32
                                " up to here are in %s",
                                following->plan->meet, following->plan->rank,
                                following->plan->directory));
        following->is_over = true;
    } else if (frame.kind == FRAME_REFUSED) {
        take_worse(following,
                   message_fail(EXIT_USAGE, "--meet %s: rank %" PRIu32 " is refused: %s",
                                following->plan->meet, following->plan->rank, frame.text));
        following->is_over = true;
    } else if (frame.kind == FRAME_QUIT) {
        end_rank(following, frame.numbers[0] != 0);
    } else {
        (void)frame_send(following->member.child.tasks, &frame);
    }
}

static void relay(struct following *following)
{
    while (!following->is_over && !interrupt_is_requested()) {
        struct pollfd files[] = {{.fd = following->member.child.answers, .events = POLLIN},
                                 {.fd = following->keeper, .events = POLLIN}};
        (void)poll(files, 2, TICK_MS);
        if (files[0].revents != 0) {
            hear_rank(following);
        }
        if (!following->is_over && files[1].revents != 0) {
            hear_keeper(following);
        }
        if (!following->is_over && following->has_begun) {
            const struct pod_frame frame = member_look(&following->member,
                                                       following->plan->patience_ns);
            say(following, &frame);
        }
    }
    if (interrupt_is_requested()) {
        take_worse(following, EXIT_HARNESS);
    }
}

enum exit_code pod_follow(const struct pod_plan *plan)
{
    static struct following following;
    following = (struct following){.plan = plan, .keeper = -1};
    const enum exit_code code = meet_connect(plan->meet, CONNECT_NS, &following.keeper);
    if (code != EXIT_KEPT) {
        return code;
    }
    if (member_start(&following.member, &(struct rank_plan){.recording = plan->recording,
                                                            .directory = plan->directory,
                                                            .rank = plan->rank,
                                                            .pace = plan->pace})) {
        relay(&following);
    } else {
        take_worse(&following,
                   message_fail(EXIT_HARNESS, "cannot start the process of rank %" PRIu32 ": %s",
                                plan->rank, strerror(errno)));
    }
    member_deinit(&following.member);
    (void)close(following.keeper);
    return following.code;
}
