#include "diagnosis/standstill.h"

#include "harness/base/json.h"
#include "harness/base/size.h"

#include <inttypes.h>

static void append_order(const struct setup *setup, const struct standstill *found,
                         struct writing *text)
{
    char size[SIZE_TEXT_BYTES];
    size_print(found->requested_bytes, size);
    writing_append_format(text, "%s could have had its %s", setup->tags[found->client], size);
    if (found->fits_now) {
        writing_append(text, " by then, had it asked once more");
    } else if (found->gives_way != STANDSTILL_NOBODY) {
        writing_append_format(text, ", had %s given way", setup->tags[found->gives_way]);
    } else {
        writing_append(text, ", had several others given way");
    }
}

void standstill_append(const struct setup *setup, const struct standstill *found,
                       struct writing *text)
{
    writing_append_format(text, "all %u clients", found->client_count);
    if (setup->host_count > 1) {
        writing_append_format(text, " of host %u", found->host);
    }
    writing_append_format(
        text, " wait for memory since op %" PRIu32 ", and at op %" PRIu32 " each has asked again: ",
        found->since, found->told);
    switch (found->way) {
    case STANDSTILL_ORDER:
        append_order(setup, found, text);
        break;
    case STANDSTILL_TOO_SMALL:
        writing_append(text, "the device is too small for any one of their requests, "
                             "even if all others give way");
        break;
    default:
        writing_append(text, "whether one of them could have gone on is not known");
        break;
    }
}

void standstills_append(const struct setup *setup, const struct standstills *standstills,
                        struct writing *text)
{
    for (size_t i = 0; i < standstills->count; i++) {
        writing_append(text, "standstill: ");
        standstill_append(setup, &standstills->standstills[i], text);
        writing_append(text, ".\n");
    }
    if (standstills->more > 0) {
        writing_append_format(text, "standstill: %" PRIu64 " more.\n", standstills->more);
    }
}

static void append_json(const struct setup *setup, const struct standstill *found,
                        struct writing *text)
{
    static const char *const ways[] = {"order", "too_small", "unknown"};
    struct writing words;
    writing_init(&words);
    standstill_append(setup, found, &words);
    json_open(text, "standstill");
    json_add_number(text, "host", found->host);
    json_add_number(text, "clients", found->client_count);
    json_add_number(text, "since_op", found->since);
    json_add_number(text, "op", found->told);
    json_add_string(text, "way", ways[found->way]);
    if (found->way == STANDSTILL_ORDER) {
        json_add_string(text, "client", setup->tags[found->client]);
        json_add_number(text, "requested_bytes", found->requested_bytes);
    }
    if (found->gives_way != STANDSTILL_NOBODY) {
        json_add_string(text, "gives_way", setup->tags[found->gives_way]);
    }
    json_add_string(text, "words", writing_string(&words));
    json_close(text);
    writing_deinit(&words);
}

void standstills_append_json(const struct setup *setup, const struct standstills *standstills,
                             struct writing *text)
{
    for (size_t i = 0; i < standstills->count; i++) {
        append_json(setup, &standstills->standstills[i], text);
    }
}
