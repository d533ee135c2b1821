/* The messages between a rank and the keeper: frames of one size, over a pipe or a socket. */
#ifndef POD_FRAME_H
#define POD_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_kind {
    FRAME_NONE = 0,
    /* of a rank */
    FRAME_HELLO,   /* numbers: hash of the list, number of hosts, process */
    FRAME_AT,      /* op is over; numbers: the step, ns that it pauses from now on */
    FRAME_ALIVE,   /* of its parent: it takes processor time */
    FRAME_STOPPED, /* of its parent: a signal stopped it, so it will not end its pause */
    FRAME_JOIN, /* op joined a collective; numbers: group, which one of this group, its own time */
    FRAME_MISSED, /* op did not join, as it was refused; numbers: group, the step */
    FRAME_WAIT,   /* it waits now for all that it joined */
    FRAME_OOM,    /* op was refused; numbers: enum verdict_kind, bytes, the step */
    FRAME_ANSWER, /* op is a request of an spmd group; numbers: an answer, packed; which one of this
                     group; the hash of what was asked */
    FRAME_FINDING, /* op broke a promise, or our judges disagree; numbers: enum verdict_kind, enum
                      rule; text: why */
    FRAME_FAILED,  /* it cannot go on, which is no allocator's fault; text: why */
    FRAME_ENDED,   /* its list is over; numbers: its ops */
    FRAME_DEATH, /* of its parent: how it died; numbers: enum rank_death, signal; text: in words */
    /* of the keeper */
    FRAME_BEGIN,   /* all ranks are there */
    FRAME_GO,      /* numbers: group, which one, when the last member joined by its own time */
    FRAME_LOST,    /* numbers: group, which one: not all members come */
    FRAME_REFUSED, /* text: why */
    FRAME_QUIT,    /* its parent ends it; numbers: 1 = as it makes no progress */
    FRAME_KIND_COUNT
};

/* The answer to a request that all of a group make. */
struct spmd_answer {
    uint16_t group;
    uint8_t result; /* enum target_result */
    bool decides;   /* sums alone decide it (run_sums_decide()), */
    bool fits;      /* and it fits */
};
uint64_t answer_pack(const struct spmd_answer *answer);
struct spmd_answer answer_unpack(uint64_t number);

/* How a rank's process ended, or that it would not. */
enum rank_death {
    RANK_DEATH_NONE = 0,
    RANK_KILLED,     /* by a signal from outside */
    RANK_CRASHED,    /* the target ended it, or its call did not return */
    RANK_STOPPED,    /* a signal stopped it, and no other let it go on */
    RANK_IDLE,       /* it made no progress */
    RANK_FAULTY,     /* a CHECK of ours did not hold */
    RANK_INTERRUPTED /* it ran when the user ended the pod */
};

enum { FRAME_TEXT_BYTES = 144, FRAME_NUMBER_COUNT = 3 };
/* An open value.  text ends with a NUL. */
struct pod_frame {
    uint32_t magic;
    uint32_t kind; /* enum frame_kind */
    uint32_t rank;
    uint32_t op; /* of the rank's own list */
    uint64_t numbers[FRAME_NUMBER_COUNT];
    char text[FRAME_TEXT_BYTES];
};

/* A frame with its magic; the rest is zero. */
struct pod_frame frame_make(enum frame_kind kind, uint32_t rank, uint32_t op);
/* text is cut where it is too long. */
void frame_set_text(struct pod_frame *frame, const char *text);

/* Writes it all.  False: the other end is gone. */
bool frame_send(int file, const struct pod_frame *frame);

/* The part of the next frame that has arrived.  Zero is a valid start. */
struct frame_inbox {
    size_t length;
    struct pod_frame frame;
};
enum frame_sound {
    FRAME_NOTHING, /* no whole frame yet */
    FRAME_HEARD,   /* *frame is one */
    FRAME_CLOSED,  /* the other end is gone; a half frame is dropped */
    FRAME_FOREIGN  /* what came is no frame of ours */
};
/* Reads once, and waits for it where the file does.  At most one frame is taken. */
enum frame_sound frame_hear(int file, struct frame_inbox *inbox, struct pod_frame *frame);

#endif
