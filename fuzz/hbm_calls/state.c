#include "fuzz/hbm_calls/private/state.h"

#include "fuzz/hbm_calls/calls.h"

#include <string.h>

enum { NODES_FEW = 500, NODES_MANY = 20000, GRANULE_LOG2_COUNT = 17 };
static const char tag_name[] = "activations";

void calls_expect(struct calls_play *play, bool holds, const char *what)
{
    if (!holds && play->broken == NULL) {
        play->broken = what;
    }
}

/* --- options --- */

static void count_line(void *context, const char *text)
{
    struct calls_play *play = context;
    play->line_count += text[0] != '\0';
}

static void read_options(const uint8_t *header, struct calls_play *play)
{
    static const enum hbm_mitigation orders[][HBM_MITIGATION_COUNT] = {
        {HBM_DRAIN, HBM_DEFRAGMENT, HBM_EVICT}, {HBM_DRAIN, HBM_EVICT, HBM_DEFRAGMENT},
        {HBM_DEFRAGMENT, HBM_DRAIN, HBM_EVICT}, {HBM_DEFRAGMENT, HBM_EVICT, HBM_DRAIN},
        {HBM_EVICT, HBM_DRAIN, HBM_DEFRAGMENT}, {HBM_EVICT, HBM_DEFRAGMENT, HBM_DRAIN},
    };
    struct hbm_options *options = &play->options;
    hbm_options_init(options);
    options->defrag = (enum hbm_defrag)((header[0] & 3) % 3);
    options->granule_bytes = 1u << (header[0] >> 2 & 15) % GRANULE_LOG2_COUNT;
    options->program_evicts_program = (header[0] & 64) != 0;
    options->code_shown = (header[0] & 128) != 0;
    memcpy(options->order, orders[(header[1] & 7) % 6], sizeof options->order);
    options->log_allocations_on_oom = (header[1] & 8) != 0;
    options->sink = (struct hbm_sink){count_line, play};
    options->coordinate = (struct hbm_coordinate){(header[1] & 16) != 0, 1, 2, 3, 0};
    options->search_nodes_max = (header[1] & 64) != 0 ? NODES_MANY : NODES_FEW;
    options->capacity_bytes = (1u + header[2] + 256u * header[3]) *
                              (uint64_t)options->granule_bytes;
    options->chip = (enum hbm_chip)(header[4] % HBM_CHIP_COUNT);
    if (options->chip != HBM_CHIP_NONE) {
        options->capacity_bytes = 0;
    }
}

/* Options that must be refused.  False: they are left as they are. */
static bool spoil_options(unsigned how, struct hbm_services *services, struct hbm_options *options)
{
    how %= 12;
    if (how == 1) {
        services->event_wait = NULL;
    } else if (how == 2) {
        options->order[1] = options->order[0];
    } else if (how == 3) {
        options->order[2] = (enum hbm_mitigation)HBM_MITIGATION_COUNT;
    } else if (how == 4 || how == 5) {
        options->granule_bytes = how == 4 ? 3 : 2 * HBM_GRANULE_BYTES_MAX;
    } else if (how == 8) {
        options->chip = (enum hbm_chip)HBM_CHIP_COUNT;
    } else if (how == 6 || how == 7 || how == 9) {
        options->chip = how == 7 ? HBM_CHIP_V4 : HBM_CHIP_NONE;
        options->capacity_bytes = how == 6   ? 0
                                  : how == 7 ? 1 << 20
                                             : HBM_SIZE_BYTES_MAX + options->granule_bytes;
    } else if (how == 10) {
        options->log_allocations_on_oom = true;
        options->sink.line = NULL;
    }
    return how > 0 && how < 11;
}

bool calls_open(struct calls_play *play, const uint8_t *header)
{
    struct hbm_services services = calls_device_services(&play->device);
    read_options(header, play);
    const struct hbm_chip_description *chip = hbm_chip_describe(play->options.chip);
    calls_expect(play, chip == NULL || hbm_chip_find(chip->name) == chip,
                 "a chip is not found by its name");
    calls_expect(play, hbm_chip_find("v0") == NULL, "a chip is found that does not exist");
    const bool is_wrong = spoil_options(header[5], &services, &play->options);
    play->device.faults[CALLS_HOST_MEMORY].after = header[6] == 0 ? 0 : header[6] - 1u;
    play->device.faults[CALLS_HOST_MEMORY].count = header[6] == 0 ? 0 : header[7] + 1u;
    const enum hbm_result result = hbm_create(&services, &play->options, &play->hbm);
    calls_expect(play, is_wrong == (result == HBM_INVALID),
                 "invalid options are accepted, or valid ones refused");
    calls_expect(play, (result == HBM_UNAVAILABLE) == (play->device.refusal_count > 0),
                 "UNAVAILABLE without a refused service, or a refused service without UNAVAILABLE");
    calls_expect(play, result == HBM_OK || play->device.host_bytes == 0,
                 "a heap that did not open still holds host memory");
    return result == HBM_OK;
}

/* --- requests --- */

void calls_make_shape(unsigned which, unsigned number, struct hbm_shape *shape)
{
    const uint64_t dimensions[] = {1 + number / 256, 1 + number % 256, 2, 1, 3, 1, 1, 1};
    hbm_shape_init(shape, (enum hbm_element_type)(which % HBM_ELEMENT_TYPE_COUNT), dimensions,
                   which % (HBM_SHAPE_RANK_MAX + 1));
    if (which % 5 == 4) {
        shape->tile_rank = 0;
        memset(shape->tile, 0, sizeof shape->tile);
    }
}

struct hbm_request calls_make_request(const struct calls_play *play, uint64_t granules, uint8_t b,
                                      uint8_t c, struct hbm_shape *shape)
{
    const uint64_t granule = play->options.granule_bytes;
    struct hbm_request request = {
        .size_bytes = granules * granule - ((c & 1) != 0 && granules > 0 && granule > 1 ? 1 : 0),
        .align_bytes = (c >> 1 & 3) == 0 ? 0 : granule << (c >> 1 & 3),
        .kind = (c & 8) != 0 ? HBM_KIND_OUTPUT : HBM_KIND_BUFFER,
        .unpadded_bytes = b,
        .tag = c >> 4,
        .tag_name = (c & 128) != 0 ? tag_name : NULL,
    };
    if ((c >> 4 & 7) != 0) {
        calls_make_shape(c >> 4 & 7, b * 257u, shape);
        request.shape = shape;
    }
    return request;
}

uint64_t calls_next_event(struct calls_play *play)
{
    play->event_count += play->event_count < CALLS_EVENTS_MAX - 1;
    return play->event_count;
}

/* --- what is live --- */

void calls_add_buffer(struct calls_play *play, struct hbm_buffer *handle)
{
    play->buffers[play->buffer_count++] = (struct calls_buffer){.handle = handle};
}

void calls_drop_buffer(struct calls_play *play, size_t i)
{
    play->buffers[i] = play->buffers[--play->buffer_count];
}

size_t calls_pick_live(const struct calls_play *play, unsigned number)
{
    for (size_t i = 0; i < play->buffer_count; i++) {
        const size_t at = (number + i) % play->buffer_count;
        if (!play->buffers[at].is_freed) {
            return at;
        }
    }
    return play->buffer_count;
}

void calls_freed(struct calls_play *play, size_t i)
{
    play->buffers[i].is_freed = true;
    if (play->buffers[i].hold_count == 0) {
        calls_drop_buffer(play, i);
    }
}
