#include "pod/frame.h"

#include "campaign/process/child.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Read by a machine with the other order of bytes it is another number. */
#define FRAME_MAGIC UINT32_C(0x68706f31)
static_assert(sizeof(struct pod_frame) == 184,
              "frames have no padding: all machines see them alike");

struct pod_frame frame_make(enum frame_kind kind, uint32_t rank, uint32_t op)
{
    return (struct pod_frame){.magic = FRAME_MAGIC, .kind = kind, .rank = rank, .op = op};
}

void frame_set_text(struct pod_frame *frame, const char *text)
{
    (void)snprintf(frame->text, sizeof frame->text, "%s", text);
}

enum { RESULT_SHIFT = 16, DECIDES_BIT = 24, FITS_BIT = 25 };

uint64_t answer_pack(const struct spmd_answer *answer)
{
    return (uint64_t)answer->group | (uint64_t)answer->result << RESULT_SHIFT |
           (uint64_t)answer->decides << DECIDES_BIT | (uint64_t)answer->fits << FITS_BIT;
}

struct spmd_answer answer_unpack(uint64_t number)
{
    return (struct spmd_answer){.group = (uint16_t)number,
                                .result = (uint8_t)(number >> RESULT_SHIFT),
                                .decides = (number >> DECIDES_BIT & 1) != 0,
                                .fits = (number >> FITS_BIT & 1) != 0};
}

bool frame_send(int file, const struct pod_frame *frame)
{
    return file_write_all(file, frame, sizeof *frame);
}

static bool is_ours(const struct pod_frame *frame)
{
    return frame->magic == FRAME_MAGIC && frame->kind > FRAME_NONE &&
           frame->kind < FRAME_KIND_COUNT && memchr(frame->text, '\0', sizeof frame->text) != NULL;
}

enum frame_sound frame_hear(int file, struct frame_inbox *inbox, struct pod_frame *frame)
{
    char *to = (char *)&inbox->frame + inbox->length;
    const ssize_t got = read(file, to, sizeof inbox->frame - inbox->length);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) {
        return FRAME_NOTHING;
    }
    if (got <= 0) {
        return FRAME_CLOSED;
    }
    inbox->length += (size_t)got;
    if (inbox->length >= sizeof inbox->frame.magic && inbox->frame.magic != FRAME_MAGIC) {
        return FRAME_FOREIGN;
    }
    if (inbox->length < sizeof inbox->frame) {
        return FRAME_NOTHING;
    }
    inbox->length = 0;
    *frame = inbox->frame;
    return is_ours(frame) ? FRAME_HEARD : FRAME_FOREIGN;
}
