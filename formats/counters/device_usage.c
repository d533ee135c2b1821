/* Reads how full each device is, one line a device: the tables of tpu-info, the lines of MaxText,
 * and the cards of nvidia-smi.
 *
 *     | 0    | 18.45 GiB / 31.25 GiB |    100.00% |
 *     Using (GB) 44.63 / 95.74 (46.615835%) on TPU_0(process=0,(0,0,0,0))
 *     | N/A   41C    P0     98W / 400W |  18174MiB / 81920MiB |     34%      Default | */
#include "formats/common/import.h"
#include "formats/counters/private/counters.h"
#include "harness/base/align.h"
#include "harness/base/check.h"
#include "harness/base/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, NUMBER_BYTES_MAX = 24, TOLD_COUNT_MAX = 8, GRANULE = IMPORT_GRANULE_BYTES };

struct usage {
    char names[OP_HOST_COUNT_MAX][NAME_BYTES];
    struct counted_device devices[OP_HOST_COUNT_MAX];
    size_t count, repeated_count;
    bool has_more, is_gpu, is_tpu;
};

static void add(struct usage *usage, const char *name, size_t length, const struct unit_size *used,
                const struct unit_size *limit)
{
    char text[NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1), name);
    for (size_t i = 0; i < usage->count; i++) {
        if (strcmp(usage->names[i], text) == 0) {
            usage->repeated_count++; /* the table was printed again: a later moment */
            return;
        }
    }
    if (usage->count == OP_HOST_COUNT_MAX) {
        usage->has_more = true;
        return;
    }
    memcpy(usage->names[usage->count], text, sizeof text);
    usage->devices[usage->count++] = (struct counted_device){
        .limit_bytes = align_down(limit->bytes + GRANULE / 2, GRANULE),
        .in_use_bytes = align_down(used->bytes + GRANULE / 2, GRANULE)};
}

/* "18.45 GiB / 31.25 GiB" */
static bool take_pair(struct phrase_cursor *cursor, struct unit_size *used, struct unit_size *limit)
{
    struct phrase_cursor ahead = *cursor;
    if (!phrase_take_unit_size(&ahead, used) || !phrase_take(&ahead, "/") ||
        !phrase_take_unit_size(&ahead, limit) || limit->bytes == 0 || used->bytes > limit->bytes ||
        limit->bytes > IMPORT_CAPACITY_MAX / 8) {
        return false;
    }
    *cursor = ahead;
    return true;
}

static void take_using(struct cursor line, struct usage *usage)
{
    struct text_part before, numbers, used_text, limit_text;
    if (!cursor_take_up_to(&line, "Using (GB) ", &before) ||
        !cursor_take_up_to(&line, ") on ", &numbers)) {
        return;
    }
    struct cursor pair_text = cursor_make(numbers.at, numbers.length);
    if (!cursor_take_up_to(&pair_text, "/", &used_text) ||
        !cursor_take_up_to(&pair_text, "(", &limit_text) || used_text.length > NUMBER_BYTES_MAX ||
        limit_text.length >= NUMBER_BYTES_MAX) {
        return;
    }
    char pair[96];
    const int written = snprintf(pair, sizeof pair, "%.*sGiB / %.*sGiB", (int)used_text.length,
                                 used_text.at, (int)limit_text.length, limit_text.at);
    struct phrase_cursor cursor = {.text = pair, .length = (size_t)written};
    struct unit_size used, limit;
    if (take_pair(&cursor, &used, &limit)) {
        struct text_part name = {line.at, (size_t)(line.end - line.at)};
        usage->is_tpu = usage->is_tpu ||
                        cursor_take_word(&(struct cursor){.at = line.at, .end = line.end}, "TPU",
                                         3);
        (void)cursor_take_up_to(&line, "(", &name);
        add(usage, name.at, name.length, &used, &limit);
    }
}

/* A number in the first cell of a row: behind a bar of the table, in ASCII or of three bytes. */
static bool take_device_id(const char *line, size_t length, const char **id, size_t *id_length)
{
    size_t at = 0;
    while (at < length && at < 12 && !(line[at] >= '0' && line[at] <= '9')) {
        at++;
    }
    *id = line + at;
    const size_t begin = at;
    while (at < length && line[at] >= '0' && line[at] <= '9') {
        at++;
    }
    *id_length = at - begin;
    return *id_length > 0 && *id_length < 6 && at < length && line[at] == ' ';
}

static void take_cell(const char *line, size_t length, struct usage *usage)
{
    const char *slash = memmem(line, length, "B / ", 4);
    const char *id = NULL;
    size_t id_length = 0;
    struct unit_size used, limit;
    if (slash == NULL) {
        return;
    }
    size_t begin = (size_t)(slash - line);
    while (begin > 0 && line[begin - 1] != '|' && (unsigned char)line[begin - 1] < 0x80) {
        begin--;
    }
    struct phrase_cursor cursor = {.text = line, .length = length, .at = begin};
    if (!take_pair(&cursor, &used, &limit)) {
        return;
    }
    char number[NAME_BYTES];
    if (usage->is_gpu) { /* nvidia-smi has the number in the line before */
        id = number;
        id_length = (size_t)snprintf(number, sizeof number, "GPU %zu", usage->count);
    } else if (!take_device_id(line, length, &id, &id_length)) {
        return;
    }
    usage->is_tpu = !usage->is_gpu;
    add(usage, id, id_length, &used, &limit);
}

static void read_usage(const char *text, size_t length, struct usage *usage)
{
    struct cursor cursor = cursor_make(text, length);
    struct cursor line;
    usage->is_gpu = text_has(text, length, "NVIDIA-SMI");
    while (!usage->has_more && cursor_next_line(&cursor, &line)) {
        take_using(line, usage);
        take_cell(line.at, (size_t)(line.end - line.at), usage);
    }
}

static void tell_device(const struct usage *usage, size_t number, const char *word,
                        struct import *import)
{
    const struct counted_device *device = &usage->devices[number];
    import_tell(import, "%sdevice %s (host %zu here): %s of %s in use, %s free", word,
                usage->names[number], number, size_text_of(device->in_use_bytes).text,
                size_text_of(device->limit_bytes).text,
                size_text_of(device->limit_bytes - device->in_use_bytes).text);
}

static void tell_devices(const struct usage *usage, struct import *import)
{
    size_t fullest = 0;
    for (size_t i = 0; i < usage->count; i++) {
        const struct counted_device *device = &usage->devices[i];
        const struct counted_device *most = &usage->devices[fullest];
        fullest = device->limit_bytes - device->in_use_bytes <
                          most->limit_bytes - most->in_use_bytes
                      ? i
                      : fullest;
        if (i < TOLD_COUNT_MAX) {
            tell_device(usage, i, "", import);
        }
    }
    if (usage->count > TOLD_COUNT_MAX) {
        import_tell(import, "%zu more devices are in the list, one host each",
                    usage->count - TOLD_COUNT_MAX);
        tell_device(usage, fullest, "the least free: ", import);
    }
}

static enum import_result import_device_usage(const struct import_input *input,
                                              struct import *import, struct import_error *error)
{
    struct usage *usage = calloc(1, sizeof *usage);
    CHECK(usage != NULL);
    read_usage(input->text, input->length, usage);
    enum import_result result = IMPORT_OK;
    if (usage->count == 0) {
        result = IMPORT_LACKS(error, "no device's use and capacity is in the text");
    } else if (usage->has_more) {
        result = IMPORT_REFUSE(error, 0, "more than %d devices", OP_HOST_COUNT_MAX);
    } else {
        result = counted_build(usage->devices, usage->count, "in use", input, import, error);
    }
    if (result == IMPORT_OK) {
        snprintf(import->setup.system, sizeof import->setup.system, "%s",
                 usage->is_tpu ? "xla_tpu" : "");
        for (size_t i = 0; i < usage->count; i++) {
            import_name_device(import, i, "%s%s",
                               usage->names[i][0] >= '0' && usage->names[i][0] <= '9' ? "TPU " : "",
                               usage->names[i]);
        }
        tell_devices(usage, import);
        import_assume(
            import,
            "the table is one sample, perhaps not the moment of the failure; what is in use and what is free are taken as one block each");
        if (usage->repeated_count > 0) {
            import_note(import, "rows of devices that came again are left out: %zu",
                        usage->repeated_count);
        }
    }
    free(usage);
    return result;
}

static unsigned recognise_device_usage(const char *text, size_t length)
{
    static const char *const words[] = {
        "Using (GB) ",   "TPU Utilization", "TPU Runtime Utilization",
        "TPU HBM Usage", "HBM Usage (GiB)", "HBM usage",
        "NVIDIA-SMI"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text_has(text, length, words[i])) {
            return text_has(text, length, " / ") ? 40 : 0;
        }
    }
    return 0;
}

const struct format format_device_usage = {
    .name = "device_usage",
    .summary = "how full each device is: tpu-info, MaxText's 'Using (GB)', nvidia-smi",
    .recognise = recognise_device_usage,
    .import = import_device_usage,
};
