/* The process that the ranks meet: it starts those of this machine, hears all, and tells. */
#include "campaign/base/clock.h"
#include "campaign/base/file.h"
#include "campaign/base/interrupt.h"
#include "harness/base/check.h"
#include "pod/member.h"
#include "pod/pod.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { STRANGER_COUNT_MAX = 64, TICK_MS = 20 };
/* How long a peer may take to name itself once connected, and to end once asked. */
#define STRANGER_NS UINT64_C(10000000000)
#define QUIT_NS UINT64_C(2000000000)

/* A peer that connected and has not yet said which rank it is. */
struct stranger {
    int file; /* -1 = none */
    uint64_t since_ns;
    struct frame_inbox inbox;
};

struct pod_keeping {
    const struct pod_plan *plan;
    struct keeper *keeper;
    struct member members[OP_HOST_COUNT_MAX]; /* by rank; those of this machine */
    struct stranger strangers[STRANGER_COUNT_MAX];
    int listener; /* -1 = none */
    int arrivals;
};

/* --- who connects --- */

static void drop_stranger(struct stranger *stranger, const char *why)
{
    message_note("--meet: a connection was closed: %s", why);
    (void)close(stranger->file);
    stranger->file = -1;
}

static void accept_stranger(struct pod_keeping *keeping)
{
    const int file = accept4(keeping->listener, NULL, NULL, SOCK_CLOEXEC);
    struct stranger *free_one = NULL;
    if (file < 0) {
        return;
    }
    for (size_t i = 0; i < STRANGER_COUNT_MAX && free_one == NULL; i++) {
        free_one = keeping->strangers[i].file < 0 ? &keeping->strangers[i] : NULL;
    }
    if (free_one == NULL) {
        (void)close(file);
        return;
    }
    const struct timeval second = {.tv_sec = 1};
    (void)setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
    *free_one = (struct stranger){.file = file, .since_ns = clock_now_ns()};
}

static void welcome(struct pod_keeping *keeping, struct stranger *stranger,
                    const struct pod_frame *frame)
{
    if (frame->kind != FRAME_HELLO || frame->rank >= keeper_rank_count(keeping->keeper)) {
        drop_stranger(stranger, "it is no rank of this pod");
        return;
    }
    const struct keeper_rank *rank = keeper_rank(keeping->keeper, frame->rank);
    if (rank->state != RANK_COMING || rank->in >= 0) {
        drop_stranger(stranger, "the rank that it says to be is there already");
        return;
    }
    keeper_connect(keeping->keeper, frame->rank, stranger->file, stranger->file);
    keeper_take(keeping->keeper, frame->rank, frame);
    stranger->file = -1;
}

static void hear_stranger(struct pod_keeping *keeping, struct stranger *stranger)
{
    struct pod_frame frame;
    switch (frame_hear(stranger->file, &stranger->inbox, &frame)) {
    case FRAME_NOTHING:
        return;
    case FRAME_HEARD:
        welcome(keeping, stranger, &frame);
        return;
    case FRAME_FOREIGN:
        drop_stranger(stranger, "what it sent is no message of a rank");
        return;
    case FRAME_CLOSED:
        drop_stranger(stranger, "it left before it said who it is");
        return;
    }
}

/* --- hearing all --- */

static void hear_all(struct pod_keeping *keeping)
{
    struct pollfd files[OP_HOST_COUNT_MAX + STRANGER_COUNT_MAX + 1];
    const uint32_t rank_count = keeper_rank_count(keeping->keeper);
    nfds_t count = 0;
    for (uint32_t i = 0; i < rank_count; i++) {
        files[count++] = (struct pollfd){.fd = keeper_rank(keeping->keeper, i)->in,
                                         .events = POLLIN};
    }
    for (size_t i = 0; i < STRANGER_COUNT_MAX; i++) {
        files[count++] = (struct pollfd){.fd = keeping->strangers[i].file, .events = POLLIN};
    }
    files[count++] = (struct pollfd){.fd = keeping->listener, .events = POLLIN};
    if (poll(files, count, TICK_MS) <= 0) {
        return;
    }
    for (uint32_t i = 0; i < rank_count; i++) {
        if (files[i].revents != 0) {
            keeper_hear(keeping->keeper, i);
        }
    }
    for (size_t i = 0; i < STRANGER_COUNT_MAX; i++) {
        if (files[rank_count + i].revents != 0) {
            hear_stranger(keeping, &keeping->strangers[i]);
        }
    }
    if (files[count - 1].revents != 0) {
        accept_stranger(keeping);
    }
}

/* Finds out what a rank does not say itself, and how it died once its file is closed. */
static void look_at_member(struct pod_keeping *keeping, uint32_t rank)
{
    struct member *member = &keeping->members[rank];
    if (member->child.process > 0) {
        const bool is_over = keeper_rank(keeping->keeper, rank)->in < 0;
        const struct pod_frame frame = is_over ? member_end(member)
                                               : member_look(member, keeping->plan->patience_ns);
        if (frame.kind != FRAME_NONE) {
            keeper_take(keeping->keeper, rank, &frame);
        }
    }
}

static void look_at_all(struct pod_keeping *keeping)
{
    for (uint32_t i = 0; i < keeper_rank_count(keeping->keeper); i++) {
        look_at_member(keeping, i);
    }
    for (size_t i = 0; i < STRANGER_COUNT_MAX; i++) {
        struct stranger *stranger = &keeping->strangers[i];
        if (stranger->file >= 0 && clock_now_ns() - stranger->since_ns > STRANGER_NS) {
            drop_stranger(stranger, "it did not say who it is");
        }
    }
}

/* Ends the ranks that are still there and make no progress. */
static void end_rest(struct pod_keeping *keeping)
{
    const uint32_t count = keeper_rank_count(keeping->keeper);
    const uint64_t end_ns = clock_now_ns() + QUIT_NS;
    bool is_left = false;
    for (uint32_t i = 0; i < count; i++) {
        struct keeper_rank *rank = keeper_rank(keeping->keeper, i);
        struct member *member = &keeping->members[i];
        struct pod_frame quit = frame_make(FRAME_QUIT, i, 0);
        quit.numbers[0] = rank->is_silent;
        if (rank->state > RANK_RUNNING) {
            continue;
        }
        if (member->child.process > 0) {
            const struct pod_frame death = member_kill(member, rank->is_silent);
            keeper_take(keeping->keeper, i, &death);
        } else if (rank->out >= 0) {
            is_left = true;
            (void)frame_send(rank->out, &quit);
        }
    }
    while (is_left && clock_now_ns() < end_ns) {
        hear_all(keeping);
        is_left = false;
        for (uint32_t i = 0; i < count; i++) {
            const struct keeper_rank *rank = keeper_rank(keeping->keeper, i);
            is_left |= rank->state <= RANK_RUNNING && rank->in >= 0;
        }
    }
}

/* --- from begin to end --- */

/* Notes which process is which rank, for a user who wants to send it a signal. */
static bool note_processes(const struct pod_keeping *keeping)
{
    char path[FILE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/processes", keeping->plan->directory);
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < keeper_rank_count(keeping->keeper); i++) {
        if (keeping->members[i].child.process > 0) {
            (void)fprintf(file, "%" PRIu32 " %ld\n", i, (long)keeping->members[i].child.process);
        }
    }
    return fclose(file) == 0;
}

static enum exit_code start_members(struct pod_keeping *keeping)
{
    for (uint32_t i = 0; i < keeper_rank_count(keeping->keeper); i++) {
        const struct rank_plan plan = {.recording = keeping->plan->recording,
                                       .directory = keeping->plan->directory,
                                       .rank = i,
                                       .pace = keeping->plan->pace};
        struct member *member = &keeping->members[i];
        if (keeping->plan->meet != NULL && i != keeping->plan->rank) {
            continue;
        }
        if (!member_start(member, &plan)) {
            return message_fail(EXIT_HARNESS, "cannot start the process of rank %" PRIu32 ": %s", i,
                                strerror(errno));
        }
        keeper_connect(keeping->keeper, i, member->child.answers, member->child.tasks);
    }
    return note_processes(keeping)
               ? EXIT_KEPT
               : message_fail(EXIT_HARNESS, "%s/processes cannot be written: %s",
                              keeping->plan->directory, strerror(errno));
}

static enum exit_code open_files(struct pod_keeping *keeping)
{
    char path[FILE_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/arrivals", keeping->plan->directory);
    keeping->arrivals = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (keeping->arrivals < 0) {
        return message_fail(EXIT_USAGE, "%s cannot be written: %s", path, strerror(errno));
    }
    return keeping->plan->meet == NULL ? EXIT_KEPT
                                       : meet_listen(keeping->plan->meet, &keeping->listener);
}

static void close_files(struct pod_keeping *keeping)
{
    for (uint32_t i = 0; i < OP_HOST_COUNT_MAX; i++) {
        member_deinit(&keeping->members[i]);
    }
    if (keeping->listener >= 0) {
        meet_close(keeping->plan->meet, keeping->listener);
    }
    (void)close(keeping->arrivals);
}

static enum exit_code keep(struct pod_keeping *keeping)
{
    enum exit_code code = start_members(keeping);
    while (code == EXIT_KEPT && !keeper_is_over(keeping->keeper) && !interrupt_is_requested()) {
        hear_all(keeping);
        look_at_all(keeping);
        keeper_decide(keeping->keeper);
    }
    look_at_all(keeping);
    end_rest(keeping);
    return code == EXIT_KEPT ? pod_tell(keeping->plan, keeping->keeper) : code;
}

enum exit_code pod_keep(const struct pod_plan *plan)
{
    struct pod_keeping *keeping = calloc(1, sizeof *keeping);
    CHECK(keeping != NULL);
    keeping->plan = plan;
    keeping->listener = keeping->arrivals = -1;
    for (size_t i = 0; i < STRANGER_COUNT_MAX; i++) {
        keeping->strangers[i].file = -1;
    }
    enum exit_code code = open_files(keeping);
    if (code == EXIT_KEPT) {
        keeping->keeper = keeper_create(
            &(struct keeper_plan){.setup = &plan->recording->setup,
                                  .hash = rank_list_hash(plan->recording),
                                  .patience_ns = plan->patience_ns,
                                  .arrivals = keeping->arrivals});
        code = keep(keeping);
        keeper_destroy(keeping->keeper);
    }
    close_files(keeping);
    free(keeping);
    return code;
}
