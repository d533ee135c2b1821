#include "page/list_run.h"

#include "recording/recording.h"

#include <errno.h>
#include <string.h>

static void record_list(void *context, int file)
{
    struct list_run *run = context;
    (void)file; /* the record is shared */
    run_record_run(run->record, run->recording.target);
}

static enum exit_code run_list(struct list_run *run, const struct page_options *options)
{
    struct writing answer;
    enum child_end end;
    struct death death;
    writing_init(&answer);
    const enum exit_code code = target_child(options->reading.run, &death, record_list, run,
                                             &answer, &end);
    run->has_died = code == EXIT_KEPT && end == CHILD_DIED;
    run->is_stopped = code == EXIT_KEPT && end == CHILD_STOPPED;
    death_describe(&death, run->death);
    death_signature(&death, run->signature);
    writing_deinit(&answer);
    return code;
}

enum exit_code list_run_init(struct list_run *run, const struct page_options *options,
                             const char *path)
{
    memset(run, 0, sizeof *run);
    run->path = path;
    return recording_read_to_show(path, options->reading, &run->recording);
}

enum exit_code list_run_execute(struct list_run *run, const struct page_options *options)
{
    const struct recording *recording = &run->recording;
    if (recording->why_no_list[0] != '\0') {
        return EXIT_KEPT;
    }
    step_axis_init(&run->steps, recording->said, recording->said_count,
                   recording->view == IMPORT_EVENTS ? &recording->ops : NULL,
                   recording->setup.granule_bytes);
    run->record = run_record_create(&recording->setup, &recording->ops);
    if (run->record == NULL) {
        return message_fail(EXIT_HARNESS, "cannot map shared memory: %s", strerror(errno));
    }
    enum exit_code code = run_list(run, options);
    if (code == EXIT_KEPT && run->record->is_refused) {
        code = message_fail(EXIT_HARNESS, "%s: the target refuses the setup: %s", run->path,
                            run->record->why);
    }
    run->peak = run_record_peak(run->record, &run->peak_host);
    run_holders_take(run->record, run->peak, run->peak_host, &run->holders);
    return code;
}

void list_run_deinit(struct list_run *run)
{
    run_record_destroy(run->record);
    step_axis_deinit(&run->steps);
    recording_deinit(&run->recording);
}
