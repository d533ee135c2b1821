/* Describes in words where each lane stands. */
#include "explore/private/check.h"
#include "explore/private/scheduler_state.h"

#include <stdarg.h>
#include <stdio.h>

struct words {
    char *text;
    size_t used, capacity;
};

__attribute__((format(printf, 2, 3))) static void add_words(struct words *words, const char *format,
                                                            ...)
{
    EXPLORE_CHECK(words->used < words->capacity);
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(words->text + words->used, words->capacity - words->used, format,
                                 arguments);
    va_end(arguments);
    words->used += length < 0 ? 0 : (size_t)length;
    words->used = words->used < words->capacity ? words->used : words->capacity - 1;
    EXPLORE_CHECK(words->used < words->capacity);
}

static void add_lane_name(struct words *words, const struct lane *lane, unsigned number)
{
    if (lane->op == STEP_OP_NONE) {
        add_words(words, "%slane %u", words->used == 0 ? "" : "; ", number);
    } else {
        add_words(words, "%slane %u (op %u)", words->used == 0 ? "" : "; ", number, lane->op);
    }
}

static void add_lane_state(struct scheduler *scheduler, struct words *words,
                           const struct lane *lane)
{
    EXPLORE_CHECK(lane->lives != 0);
    char place[PLACE_TEXT_BYTES];
    const struct step *step = &lane->step;
    if (step->gate == NULL || *step->gate == 0) {
        add_words(words, " is at a %s", step_kind_name(step->kind));
        return;
    }
    if (step->object == NULL) {
        add_words(words, " awaits other lanes");
    } else {
        const struct object *object = scheduler_object(scheduler, step->object, NULL);
        add_words(words, " awaits %s #%u",
                  object->kind == NULL ? step_kind_name(step->kind) : object->kind, object->number);
        if (object->holder != 0 && step->gate == &object->holder) {
            add_words(words, ", which lane %u holds since %s", object->holder - 1,
                      place_print(object->held_since, place));
        }
    }
    if (step->place != NULL) {
        add_words(words, " at %s", place_print(step->place, place));
    }
}

void scheduler_describe(struct scheduler *scheduler)
{
    EXPLORE_CHECK(scheduler->report != NULL);
    struct words words = {.text = scheduler->report->text,
                          .capacity = sizeof scheduler->report->text};
    for (uint64_t left = scheduler->living; left != 0; left &= left - 1) {
        const unsigned number = (unsigned)__builtin_ctzll(left);
        add_lane_name(&words, &scheduler->lanes[number], number);
        add_lane_state(scheduler, &words, &scheduler->lanes[number]);
    }
    EXPLORE_CHECK(words.used < words.capacity);
}
