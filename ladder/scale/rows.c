/* The rows of scale, several at once: each in a process that measures one row and answers.  They
 * are told in their order, whichever ends first. */
#include "campaign/base/interrupt.h"
#include "campaign/process/background.h"
#include "campaign/trials/trials.h"
#include "harness/base/check.h"
#include "ladder/scale/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 5 };

/* A process, while it has a row; row_count: it has none. */
struct worker {
    struct background background;
    struct scale *scale;
    size_t row;
};

struct answer {
    enum exit_code code;
    struct scale_result result;
};

struct crew {
    struct scale *scale;
    struct worker *workers; /* count of them */
    size_t count;
    size_t next;   /* row that nobody has yet */
    bool *is_done; /* by row */
};

/* In the process of the worker. */
static void measure_row(void *context, int file)
{
    struct worker *worker = context;
    struct answer answer = {0};
    answer.code = scale_measure(worker->scale, &worker->scale->rows[worker->row].point,
                                &answer.result);
    (void)file_write_all(file, &answer, sizeof answer);
}

static enum exit_code start_row(struct crew *crew, struct worker *worker)
{
    worker->row = crew->next;
    if (!background_start(&worker->background, measure_row, worker)) {
        worker->row = crew->scale->row_count;
        return message_fail(EXIT_HARNESS, "cannot start another process: %s", strerror(errno));
    }
    crew->next++;
    return EXIT_KEPT;
}

static enum exit_code take_answer(struct crew *crew, struct worker *worker, bool is_good)
{
    struct answer answer;
    const size_t row = worker->row;
    worker->row = crew->scale->row_count;
    if (!is_good || worker->background.answer.length != sizeof answer) {
        return message_fail(EXIT_HARNESS, "a process of hbmstress itself ended early");
    }
    memcpy(&answer, worker->background.answer.bytes, sizeof answer);
    crew->scale->rows[row].result = answer.result;
    crew->is_done[row] = true;
    return answer.code;
}

/* Gives the worker a row if it has none, or takes what it has done. */
static enum exit_code look_at(struct crew *crew, struct worker *worker)
{
    bool is_good = false;
    if (interrupt_is_requested()) {
        return message_fail(EXIT_HARNESS, "interrupted");
    }
    if (worker->row == crew->scale->row_count) {
        return crew->next < crew->scale->row_count ? start_row(crew, worker) : EXIT_KEPT;
    }
    return background_is_done(&worker->background, WAIT_MS, &is_good)
               ? take_answer(crew, worker, is_good)
               : EXIT_KEPT;
}

static enum exit_code run_crew(struct crew *crew,
                               void (*tell)(void *context, const struct scale_row *row),
                               void *context)
{
    enum exit_code code = EXIT_KEPT;
    for (size_t told = 0; code == EXIT_KEPT && told < crew->scale->row_count;) {
        for (size_t i = 0; code == EXIT_KEPT && i < crew->count; i++) {
            code = look_at(crew, &crew->workers[i]);
        }
        for (; told < crew->scale->row_count && crew->is_done[told]; told++) {
            tell(context, &crew->scale->rows[told]);
        }
    }
    return code;
}

static void dismiss(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        struct worker *worker = &crew->workers[i];
        background_stop(&worker->background);
        writing_deinit(&worker->background.answer);
    }
    free(crew->workers);
    free(crew->is_done);
}

enum exit_code scale_measure_rows(struct scale *scale,
                                  void (*tell)(void *context, const struct scale_row *row),
                                  void *context)
{
    const size_t wanted = workers_wanted(scale->options->run);
    struct crew crew = {.scale = scale,
                        .count = wanted < scale->row_count ? wanted : scale->row_count};
    crew.workers = calloc(crew.count, sizeof *crew.workers);
    crew.is_done = calloc(scale->row_count, sizeof *crew.is_done);
    CHECK(crew.workers != NULL && crew.is_done != NULL);
    for (size_t i = 0; i < crew.count; i++) {
        crew.workers[i] = (struct worker){.scale = scale, .row = scale->row_count};
    }
    const enum exit_code code = run_crew(&crew, tell, context);
    dismiss(&crew);
    return code;
}
