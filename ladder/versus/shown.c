/* The list that shows a regression: fewer ops that OLD serves, and of which NEW does not serve the
 * last. */
#include "campaign/base/place.h"
#include "campaign/base/repro.h"
#include "campaign/base/target_path.h"
#include "harness/base/check.h"
#include "harness/shrink/shrink.h"
#include "ladder/versus/versus.h"

#include <stdlib.h>
#include <string.h>

/* Each try is two processes: some thousand are many seconds. */
enum { TRY_COUNT_MAX = 2000 };

struct showing {
    struct versus *versus;
    size_t list;
    const struct setup *setup; /* of the list that is tried */
    const struct op_list *ops; /* the same */
    bool is_of_death;          /* NEW ends its process, and OLD does not */
    enum exit_code code;
};

/* --- whether a list shows it --- */

/* The first op that the side does not serve, or in which it died; OP_NONE: it did not open. */
static uint32_t ask_side(struct showing *showing, size_t side, bool *is_dead)
{
    uint32_t op = OP_NONE;
    const struct target_reply reply = versus_ask_refused(showing->versus, side, showing->setup,
                                                         showing->ops, &op);
    showing->code = reply.code;
    *is_dead = reply.is_dead;
    return reply.is_dead ? showing->versus->death.progress.op : op;
}

/* The op that NEW alone does not serve, or alone does not survive; OP_NONE: there is none. */
static uint32_t find_shown_op(struct showing *showing)
{
    bool is_dead = false;
    const uint32_t old_op = ask_side(showing, 0, &is_dead);
    if (showing->code != EXIT_KEPT || old_op == OP_NONE || is_dead) {
        return OP_NONE;
    }
    const uint32_t new_op = ask_side(showing, 1, &is_dead);
    const bool is_shown = showing->is_of_death ? is_dead && new_op < showing->ops->count
                                               : new_op < old_op && !is_dead;
    return is_shown ? new_op : OP_NONE;
}

static void cut(struct op_list *ops, uint32_t last)
{
    ops->count = last + (size_t)1 < ops->count ? last + (size_t)1 : ops->count;
}

/* Of shrink(): the setup may name a granule in which sizes become simpler; a build has its own. */
static bool is_shown(void *context, const struct setup *setup, struct op_list *ops,
                     struct verdict *first)
{
    struct showing *showing = context;
    struct setup own;
    setup_init(&own);
    setup_copy(&own, setup);
    own.granule_bytes = 0;
    if (showing->code != EXIT_KEPT) {
        return false;
    }
    showing->setup = &own;
    showing->ops = ops;
    const uint32_t op = find_shown_op(showing);
    if (op == OP_NONE) {
        return false;
    }
    cut(ops, op);
    *first = (struct verdict){.kind = VERDICT_BROKEN, .op = op};
    return true;
}

/* --- the list to begin with --- */

/* Up to the first op that NEW alone refuses, or at which it died, without what either refused
 * before. */
static void choose_ops(const struct showing *showing, struct op_list *ops)
{
    const struct versus *versus = showing->versus;
    const struct versus_row *rows = &versus->rows[showing->list * VERSUS_SIDE_COUNT_MAX];
    const struct versus_result *result = &versus->results[showing->list];
    uint32_t last = result->first_op;
    op_list_copy(ops, &versus->lists[showing->list].ops);
    if (rows[1].judged.end != JUDGED_WHOLE && rows[1].judged.end_op < last) {
        last = rows[1].judged.end_op;
    }
    bool *is_kept = calloc(ops->count + 1, sizeof *is_kept);
    CHECK(is_kept != NULL);
    for (uint32_t i = 0; i < ops->count; i++) {
        is_kept[i] = i == last ||
                     (rows[0].answers[i] != ANSWER_REFUSED && rows[1].answers[i] != ANSWER_REFUSED);
    }
    cut(ops, last);
    op_list_filter(ops, is_kept);
    free(is_kept);
}

/* A capacity, and ops, that show it before anything is shrunk.  False: none was found. */
static bool begin_showing(struct showing *showing, struct setup *setup, struct op_list *ops)
{
    struct versus *versus = showing->versus;
    const struct versus_row *rows = &versus->rows[showing->list * VERSUS_SIDE_COUNT_MAX];
    struct verdict ignored;
    choose_ops(showing, ops);
    if (is_shown(showing, setup, ops, &ignored)) {
        return true;
    }
    if (showing->code != EXIT_KEPT || rows[0].smallest.bytes == 0) {
        return false;
    }
    op_list_copy(ops, &versus->lists[showing->list].ops);
    setup->capacity_bytes = rows[0].smallest.bytes;
    return is_shown(showing, setup, ops, &ignored);
}

/* --- the file --- */

static enum exit_code write_list(struct versus *versus, const struct setup *setup,
                                 const struct op_list *ops, const char *note)
{
    struct writing comments = {0};
    comment_append(&comments, "old: ", versus->sides[0].name);
    comment_append(&comments, "new: ", versus->sides[1].name);
    comment_append(&comments, "shows: ", note);
    target_path_append_comment(&comments, setup->target, versus->shown_path);
    const enum exit_code code = ops_output(versus->shown_path, setup, ops,
                                           writing_string(&comments));
    writing_deinit(&comments);
    return code;
}

static enum exit_code name_file(struct versus *versus, size_t list)
{
    const char *directory = versus->options->run->out == NULL ? "out" : versus->options->run->out;
    const enum exit_code code = place_make_folder(directory);
    if (code != EXIT_KEPT) {
        return code;
    }
    const int length = snprintf(versus->shown_path, sizeof versus->shown_path,
                                "%s/regression-%s.ops", directory, versus->lists[list].name);
    if ((size_t)length >= sizeof versus->shown_path) {
        versus->shown_path[0] = '\0';
        return message_fail(EXIT_USAGE, "--out: the path is too long");
    }
    struct output_place place;
    for (size_t i = 0; i < versus->list_count; i++) {
        if (place_find(versus->shown_path, versus->lists[i].path, &place) != EXIT_KEPT) {
            versus->shown_path[0] = '\0';
            return EXIT_USAGE;
        }
    }
    return EXIT_KEPT;
}

static enum exit_code show_shrunk(struct showing *showing, struct setup *setup, struct op_list *ops)
{
    struct versus *versus = showing->versus;
    const uint64_t budget = versus->options->run->shrink_budget;
    struct shrink_result result = {0};
    setup->granule_bytes = versus->sides[0].contract.granule_bytes;
    const struct shrink_try attempt = {.context = showing, .is_same = is_shown, .setup = setup};
    const struct versus_list *list = &versus->lists[showing->list];
    const bool is_shrunk = budget > 0 &&
                           shrink(&attempt, ops, budget < TRY_COUNT_MAX ? budget : TRY_COUNT_MAX,
                                  &result);
    setup->granule_bytes = 0;
    enum exit_code code = showing->code;
    if (code == EXIT_KEPT) {
        const struct op_list *shown = is_shrunk ? &result.ops : ops;
        versus->shown_op_count = shown->count;
        if (list->path != NULL && shown->count == list->ops.count &&
            setup->capacity_bytes == list->setup.capacity_bytes) {
            (void)snprintf(versus->shown_path, sizeof versus->shown_path, "%s", list->path);
        } else {
            code = write_list(
                versus, setup, shown,
                showing->is_of_death
                    ? "the last op ends the process of NEW, and not that of OLD"
                    : "OLD serves every request of this list, and NEW not the last op");
        }
    }
    if (is_shrunk) {
        op_list_deinit(&result.ops);
    }
    return code;
}

enum exit_code versus_show(struct versus *versus, size_t list)
{
    struct showing showing = {.versus = versus,
                              .list = list,
                              .is_of_death = (versus->results[list].regressions & VERSUS_DIES) !=
                                             0};
    struct setup setup;
    struct op_list ops;
    enum exit_code code = name_file(versus, list);
    if (code != EXIT_KEPT) {
        return code;
    }
    versus->shown_list = list;
    setup_init(&setup);
    setup_copy(&setup, &versus->rows[list * VERSUS_SIDE_COUNT_MAX].setup);
    setup.granule_bytes = 0;
    op_list_init(&ops);
    if (begin_showing(&showing, &setup, &ops)) {
        code = show_shrunk(&showing, &setup, &ops);
    } else if (showing.code != EXIT_KEPT) {
        code = showing.code;
    } else {
        versus->shown_op_count = versus->lists[list].ops.count;
        setup.capacity_bytes = versus->rows[list * VERSUS_SIDE_COUNT_MAX].setup.capacity_bytes;
        code = write_list(versus, &setup, &versus->lists[list].ops,
                          "the whole list: it shows the regression in its sums");
    }
    op_list_deinit(&ops);
    if (code != EXIT_KEPT) {
        versus->shown_path[0] = '\0';
    }
    return code;
}
