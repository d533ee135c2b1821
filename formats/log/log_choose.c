/* Chooses the first failure of all events; the others are consequences, or no failures. */
#include "formats/log/private/log_reading.h"
#include "harness/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_AFTER_SURVIVED = 3 /* that are more than what was already under way */ };

static bool have_one_clock(const struct log_event *a, const struct log_event *b)
{
    return a->time.clock == b->time.clock && a->time.clock != LOG_CLOCK_NONE;
}

bool log_event_is_before(const struct log_event *a, const struct log_event *b)
{
    if (a->source != b->source && have_one_clock(a, b) && a->time.time_ns != b->time.time_ns) {
        return a->time.time_ns < b->time.time_ns;
    }
    if (a->file != b->file && a->source != b->source && !have_one_clock(a, b) && a->has_step &&
        b->has_step && a->step != b->step) {
        return a->step < b->step;
    }
    return a->order < b->order;
}

/* The first of a kind; LOG_EVENT_UNKNOWN: there is none.  Of failures that the job survived, one is
 * taken where it survived all. */
static int find_first(const struct log_story *story, enum log_event_kind kind, bool with_survived)
{
    int first = LOG_EVENT_UNKNOWN;
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        if (event->kind == kind && !event->is_blame && (with_survived || !event->has_survived) &&
            (first == LOG_EVENT_UNKNOWN || log_event_is_before(event, &story->events[first]))) {
            first = (int)i;
        }
    }
    return first;
}

/* Finds a launcher's report, if the process itself says nothing: the last, the earliest failure of
 * several reports (log_blame.c).  A process that waited in vain before is no cause. */
static int find_blame(const struct log_story *story)
{
    for (size_t i = story->event_count; i > 0; i--) {
        if (story->events[i - 1].is_blame && story->events[i - 1].kind != LOG_EVENT_PEER) {
            return (int)i - 1;
        }
    }
    return LOG_EVENT_UNKNOWN;
}

static int choose_earlier(const struct log_story *story, int a, int b)
{
    if (a == LOG_EVENT_UNKNOWN || b == LOG_EVENT_UNKNOWN) {
        return a == LOG_EVENT_UNKNOWN ? b : a;
    }
    return log_event_is_before(&story->events[b], &story->events[a]) ? b : a;
}

/* True if the source printed an event of one of the kinds, a bit each, from the order on up to the
 * end. */
static bool has_event(const struct log_story *story, uint32_t source, unsigned kinds, size_t begin,
                      size_t end)
{
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        if ((kinds >> event->kind & 1) != 0 && event->source == source && event->order >= begin &&
            event->order < end) {
            return true;
        }
    }
    return false;
}

static void mark_survived(struct log_reading *reading)
{
    struct log_story *story = reading->story;
    for (size_t i = 0; i < story->event_count; i++) {
        struct log_event *event = &story->events[i];
        const uint64_t after = story->sources[event->source].step_count - event->steps_before;
        const bool has_said_so = reading->states[event->source].went_on > event->last_order;
        if (event->kind == LOG_EVENT_OOM) {
            event->has_survived = has_said_so ||
                                  after >= (event->form == LOG_FORM_COMPILE
                                                ? 1 /* nobody is ahead of the compiler */
                                                : STEPS_AFTER_SURVIVED);
        } else if (event->kind == LOG_EVENT_EXCEPTION || event->kind == LOG_EVENT_CRASH) {
            /* It lived to run out of memory later.  Had it waited in vain, that is why it ended. */
            event->has_survived = has_said_so || after > 0 ||
                                  has_event(story, event->source, 1u << LOG_EVENT_OOM,
                                            event->order + 1, SIZE_MAX);
            event->kind = has_event(story, event->source,
                                    1u << LOG_EVENT_TIMEOUT | 1u << LOG_EVENT_PEER, 0, event->order)
                              ? LOG_EVENT_PEER
                              : event->kind;
        }
    }
}

/* A torchrun that shares its label with its only child tells of that one, which has said more.
 * Warnings that all belong to failures are told with these. */
static void drop_told(struct log_story *story)
{
    size_t kept = 0;
    for (size_t i = 0; i < story->event_count; i++) {
        struct log_event *report = &story->events[i];
        for (size_t j = 0; report->kind == LOG_EVENT_PEER && j < i; j++) {
            const struct log_event *event = &story->events[j];
            if (event->source == report->source && event->kind != LOG_EVENT_RETRY &&
                event->kind != LOG_EVENT_PEER && strstr(report->text, "ChildFailedError") != NULL) {
                report->count = 0;
            }
        }
    }
    for (size_t i = 0; i < story->event_count; i++) {
        if (story->events[i].count > 0) {
            story->events[kept++] = story->events[i];
        }
    }
    story->event_count = kept;
}

static void choose_first(struct log_story *story)
{
    static const struct {
        enum log_event_kind kind;
        enum log_verdict verdict;
    } order[] = {
        {LOG_EVENT_SCRATCHPAD, LOG_VERDICT_FAILED}, {LOG_EVENT_PLAN, LOG_VERDICT_PLAN},
        {LOG_EVENT_KILLED, LOG_VERDICT_KILLED},     {LOG_EVENT_TIMEOUT, LOG_VERDICT_WAITED},
        {LOG_EVENT_PEER, LOG_VERDICT_WAITED},       {LOG_EVENT_RETRY, LOG_VERDICT_RECOVERED}};
    const int oom = find_first(story, LOG_EVENT_OOM, false);
    int host = find_first(story, LOG_EVENT_HOST_OOM, false);
    /* The host's memory of another rank, as a launcher says it, without a time: not before this. */
    if (oom != LOG_EVENT_UNKNOWN && host != LOG_EVENT_UNKNOWN && story->events[host].has_victim &&
        story->sources[story->events[oom].source].rank != story->events[host].victim_rank) {
        host = LOG_EVENT_UNKNOWN;
    }
    story->first = choose_earlier(story, oom, host);
    if (story->first == LOG_EVENT_UNKNOWN) {
        story->first = choose_earlier(story, find_first(story, LOG_EVENT_EXCEPTION, false),
                                      find_first(story, LOG_EVENT_CRASH, false));
        story->verdict = LOG_VERDICT_FAILED;
    } else {
        story->verdict = story->first == oom ? LOG_VERDICT_OOM : LOG_VERDICT_HOST;
    }
    if (story->first == LOG_EVENT_UNKNOWN) {
        story->first = find_first(story, LOG_EVENT_OOM, true);
        story->verdict = LOG_VERDICT_OOM;
    }
    const bool is_retold = find_first(story, LOG_EVENT_PLAN, true) != LOG_EVENT_UNKNOWN ||
                           find_first(story, LOG_EVENT_SCRATCHPAD, true) != LOG_EVENT_UNKNOWN;
    if (story->verdict == LOG_VERDICT_FAILED && is_retold) {
        story->first = LOG_EVENT_UNKNOWN; /* the exception is how it is told */
    }
    for (size_t i = 0; story->first == LOG_EVENT_UNKNOWN && i < sizeof order / sizeof order[0];
         i++) {
        story->first = find_first(story, order[i].kind, true);
        story->verdict = order[i].verdict;
        if (order[i].kind == LOG_EVENT_KILLED && story->first == LOG_EVENT_UNKNOWN &&
            find_blame(story) != LOG_EVENT_UNKNOWN) {
            story->first = find_blame(story);
            story->verdict = story->events[story->first].kind == LOG_EVENT_KILLED
                                 ? LOG_VERDICT_KILLED
                                 : LOG_VERDICT_FAILED;
        }
    }
    if (story->first == LOG_EVENT_UNKNOWN) {
        story->verdict = LOG_VERDICT_NOTHING;
    }
}

static bool is_failure(const struct log_event *event)
{
    return !event->has_survived && !event->is_blame &&
           (event->kind == LOG_EVENT_OOM || event->kind == LOG_EVENT_HOST_OOM ||
            event->kind == LOG_EVENT_KILLED || event->kind == LOG_EVENT_CRASH ||
            event->kind == LOG_EVENT_EXCEPTION);
}

/* Between files without a clock in common nothing says which of two failures came first, unless
 * one has a lower step. */
static bool is_order_known(const struct log_story *story)
{
    for (size_t i = 0; story->first != LOG_EVENT_UNKNOWN && i < story->event_count; i++) {
        const struct log_event *first = &story->events[story->first];
        const struct log_event *event = &story->events[i];
        const bool has_other_step = event->has_step && first->has_step &&
                                    event->step != first->step;
        /* One may be a launcher's report on a rank, and the other that rank's own line. */
        const bool is_of_one_rank = (event->has_victim &&
                                     event->victim_rank == story->sources[first->source].rank) ||
                                    (first->has_victim &&
                                     first->victim_rank == story->sources[event->source].rank);
        if (is_failure(event) && event->file != first->file && event->source != first->source &&
            !is_of_one_rank && event->kind == first->kind && !have_one_clock(event, first) &&
            !has_other_step) {
            return false;
        }
    }
    return true;
}

/* torchrun saw one process end first: of failures whose order is not known its own is. */
static void choose_blamed(struct log_story *story)
{
    for (size_t i = 0; story->blame.rank != LOG_RANK_NONE && i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        if (is_failure(event) && event->kind == story->events[story->first].kind &&
            story->sources[event->source].rank == story->blame.rank) {
            story->first = (int)i;
            story->is_order_known = true;
            return;
        }
    }
}

/* Ranks that no time-out is of, below the highest that one is of, or below the size of the job. */
static void find_missing(struct log_reading *reading)
{
    struct log_story *story = reading->story;
    const uint64_t count = story->world_size > reading->rank_count ? story->world_size
                                                                   : reading->rank_count;
    for (uint32_t rank = 0; reading->rank_count > 0 && rank < count; rank++) {
        const bool has_timed_out = (reading->has_timed_out[rank / 64] >> rank % 64 & 1) != 0;
        bool is_known = has_timed_out;
        for (uint32_t i = 0; i < story->missing_count; i++) {
            is_known = is_known || story->missing[i] == rank;
        }
        if (!is_known && story->missing_count < LOG_MISSING_COUNT_MAX) {
            story->missing[story->missing_count++] = rank;
        }
    }
}

static int compare_ranks(const void *a, const void *b)
{
    return compare_numbers(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* A time-out names all that did not come.  Of these some stood in another collective and timed out
 * themselves: whom they waited for is named there.  Where all did, all of them stay. */
static void drop_waiting(struct log_story *story)
{
    uint32_t kept[LOG_MISSING_COUNT_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->missing_count; i++) {
        bool has_waited = false;
        for (size_t j = 0; j < story->event_count; j++) {
            const struct log_event *event = &story->events[j];
            has_waited |= event->kind == LOG_EVENT_TIMEOUT &&
                          story->sources[event->source].rank == story->missing[i];
        }
        if (!has_waited) {
            kept[count++] = story->missing[i];
        }
    }
    if (count > 0) {
        memcpy(story->missing, kept, count * sizeof kept[0]);
        story->missing_count = count;
    }
    qsort(story->missing, story->missing_count, sizeof story->missing[0], compare_ranks);
}

static bool has_printed_event(const struct log_story *story, uint32_t source)
{
    for (size_t i = 0; i < story->event_count; i++) {
        const struct log_event *event = &story->events[i];
        for (uint32_t j = 0; j < event->printer_count && event->kind != LOG_EVENT_RETRY; j++) {
            if (event->printers[j] == source) {
                return true;
            }
        }
    }
    return false;
}

/* Against the first failure of another source, where it has one. */
static enum log_silence order_silence(const struct log_story *story,
                                      const struct log_source *source)
{
    const struct log_event *first = &story->events[story->first];
    /* From one printed step to the next. */
    const bool has_two = source->step_count > 1 && source->last_step > source->first_step;
    const uint64_t parts = source->step_count - 1;
    const uint64_t stride = has_two ? (source->last_step - source->first_step + parts - 1) / parts
                                    : 1;
    if (story->verdict == LOG_VERDICT_WAITED || story->verdict == LOG_VERDICT_RECOVERED) {
        return LOG_SILENCE_ALONE;
    }
    if (first->has_step && source->last_step < first->step &&
        first->step - source->last_step > stride) {
        return LOG_SILENCE_BEFORE;
    }
    const bool is_later = first->has_step && source->last_step > first->step &&
                          source->last_step - first->step > stride;
    return is_later ? LOG_SILENCE_AFTER : LOG_SILENCE_SAME_STEP;
}

/* Finds where the lines of a killed rank end, and when compared with the first failure. */
static void place_victims(struct log_story *story)
{
    for (size_t i = 0; i < story->event_count; i++) {
        struct log_event *event = &story->events[i];
        for (size_t j = 0; event->has_victim && j < story->source_count; j++) {
            const struct log_source *source = &story->sources[j];
            if (source->rank == event->victim_rank && j != event->source) {
                event->victim_silence = order_silence(story, source);
                event->has_step = source->has_step;
                event->step = source->last_step;
                story->has_gone_before |= (int)i != story->first &&
                                          event->victim_silence == LOG_SILENCE_BEFORE;
            }
        }
    }
}

static bool is_victim(const struct log_story *story, const struct log_source *source)
{
    for (size_t i = 0; i < story->event_count; i++) {
        if (story->events[i].has_victim && source->rank == story->events[i].victim_rank) {
            return true;
        }
    }
    return false;
}

/* Sources with a rank and steps that end in the midst of the job, while others time out. */
static void find_silent(struct log_reading *reading)
{
    struct log_story *story = reading->story;
    if (find_first(story, LOG_EVENT_TIMEOUT, true) == LOG_EVENT_UNKNOWN) {
        return;
    }
    for (uint32_t i = 0; i < story->source_count; i++) {
        const struct log_source *source = &story->sources[i];
        const bool is_one = source->rank != LOG_RANK_NONE || story->file_count > 0;
        if (is_one && source->has_step && !reading->states[i].has_ended &&
            !is_victim(story, source) && !has_printed_event(story, i) &&
            story->silent_count < LOG_MISSING_COUNT_MAX) {
            story->silence[story->silent_count] = order_silence(story, source);
            story->has_gone_before |= story->silence[story->silent_count] == LOG_SILENCE_BEFORE;
            story->silent[story->silent_count++] = i;
        }
    }
}

void log_choose(struct log_reading *reading)
{
    struct log_story *story = reading->story;
    drop_told(story);
    mark_survived(reading);
    choose_first(story);
    story->is_order_known = is_order_known(story);
    if (!story->is_order_known && story->blame.is_said) {
        choose_blamed(story);
    }
    find_missing(reading);
    drop_waiting(story);
    place_victims(story);
    find_silent(reading);
}
