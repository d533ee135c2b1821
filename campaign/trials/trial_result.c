#include "campaign/trials/trial_result.h"

#include "campaign/base/rest.h"
#include "harness/base/array.h"

#include <stddef.h>
#include <string.h>

void trial_result_init(struct trial_result *trial_result)
{
    memset(trial_result, 0, sizeof *trial_result); /* its lists and texts are empty */
}

void trial_result_deinit(struct trial_result *trial_result)
{
    for (size_t i = 0; i < TRIAL_RESULT_LIST_COUNT; i++) {
        op_list_deinit(&trial_result->op_lists[i]);
    }
    for (size_t i = 0; i < TRIAL_RESULT_TEXT_COUNT; i++) {
        writing_deinit(&trial_result->texts[i]);
    }
    writing_deinit(&trial_result->output);
    earlier_tasks_deinit(&trial_result->earlier);
}

const char *trial_result_rule(const struct trial_result *trial_result)
{
    if (trial_result->head.end == TRIAL_RESULT_FAILED ||
        trial_result->head.first.kind == VERDICT_NONE ||
        trial_result_dispute(trial_result) != NULL) {
        return NULL;
    }
    return rule_info(trial_result->head.first.rule)->name;
}

void trial_result_select(struct trial_result *trial_result, size_t finding)
{
    struct trial_result_head *head = &trial_result->head;
    CHECK(finding < head->findings.count);
    const struct run_finding *found = &head->findings.findings[finding];
    head->first = found->verdict;
    memcpy(head->signature, found->signature, sizeof head->signature);
    memcpy(head->message, found->message, sizeof head->message);
    if (found->list != 0) {
        op_list_copy(&trial_result->ops, &trial_result->lists[found->list - 1]);
    }
}

struct op_list trial_result_until_oom(const struct trial_result *trial_result)
{
    const uint64_t count = trial_result->head.until_oom_count;
    if (trial_result->oom_ops.count > 0) {
        return trial_result->oom_ops;
    }
    struct op_list ops = trial_result->ops;
    ops.count = count < ops.count ? (size_t)count : ops.count;
    return ops;
}

const struct saved_oom *trial_result_dispute(const struct trial_result *trial_result)
{
    for (size_t i = 0; i < trial_result->head.saved_count; i++) {
        if (trial_result->head.saved[i].verdict.kind == VERDICT_DISPUTED) {
            return &trial_result->head.saved[i];
        }
    }
    return NULL;
}

const struct saved_oom *trial_result_premature(const struct trial_result *trial_result)
{
    const struct verdict *first = &trial_result->head.first;
    for (size_t i = 0; i < trial_result->head.saved_count; i++) {
        const struct verdict *saved = &trial_result->head.saved[i].verdict;
        if (first->kind == VERDICT_PREMATURE && saved->kind == VERDICT_PREMATURE &&
            saved->op == first->op && strcmp(saved->mechanism, first->mechanism) == 0) {
            return &trial_result->head.saved[i];
        }
    }
    return NULL;
}

/* --- as bytes: a worker sends it to its parent --- */

/* The head as it travels: all that lies before its findings, these, and the saved OOMs. */
enum { HEAD_FIXED_BYTES = offsetof(struct trial_result_head, findings) };

size_t trial_result_pack(struct trial_result *trial_result,
                         struct child_piece pieces[TRIAL_RESULT_PIECE_COUNT_MAX])
{
    struct trial_result_head *head = &trial_result->head;
    const struct run_finding *findings = head->findings.findings;
    const struct writing *texts = trial_result->texts;
    const struct op_list *lists = trial_result->op_lists;
    size_t count = 0;
    head->finding_count = head->findings.count;
    pieces[count++] = (struct child_piece){head, HEAD_FIXED_BYTES};
    pieces[count++] = (struct child_piece){findings, head->finding_count * sizeof *findings};
    pieces[count++] = (struct child_piece){head->saved, head->saved_count * sizeof *head->saved};
    if (head->has_list) {
        pieces[count++] = (struct child_piece){&trial_result->setup, sizeof trial_result->setup};
    }
    for (size_t i = 0; i < TRIAL_RESULT_LIST_COUNT; i++) {
        head->list_op_counts[i] = lists[i].count;
        pieces[count++] = (struct child_piece){lists[i].ops, lists[i].count * sizeof(struct op)};
    }
    for (size_t i = 0; i < TRIAL_RESULT_TEXT_COUNT; i++) {
        head->text_bytes[i] = texts[i].length;
        pieces[count++] = (struct child_piece){texts[i].bytes, texts[i].length};
    }
    CHECK(count <= TRIAL_RESULT_PIECE_COUNT_MAX);
    return count;
}

/* Takes the head from the front.  False: it is not whole. */
static bool unpack_head(struct rest *rest, struct trial_result_head *head)
{
    struct run_findings *findings = &head->findings;
    if (!rest_take(rest, head, HEAD_FIXED_BYTES) || head->finding_count > RUN_FINDING_COUNT_MAX ||
        head->saved_count > TRIAL_RESULT_SAVED_COUNT_MAX) {
        return false;
    }
    findings->count = head->finding_count;
    return rest_take(rest, findings->findings, findings->count * sizeof findings->findings[0]) &&
           rest_take(rest, head->saved, head->saved_count * sizeof head->saved[0]);
}

/* Returns true if the lengths add up to the bytes behind the head. */
static bool has_length(const struct trial_result_head *head, uint64_t left)
{
    const uint64_t setup_bytes = head->has_list ? sizeof(struct setup) : 0;
    bool has = left >= setup_bytes;
    left -= has ? setup_bytes : 0;
    for (size_t i = 0; i < TRIAL_RESULT_LIST_COUNT && has; i++) {
        has = head->list_op_counts[i] <= left / sizeof(struct op);
        left -= has ? head->list_op_counts[i] * sizeof(struct op) : 0;
    }
    for (size_t i = 0; i < TRIAL_RESULT_TEXT_COUNT && has; i++) {
        has = head->text_bytes[i] <= left;
        left -= has ? head->text_bytes[i] : 0;
    }
    return has && left == 0;
}

static bool are_lists_there(const struct run_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->findings[i].list > RUN_FINDING_COUNT_MAX) {
            return false;
        }
    }
    return true;
}

/* The logs are as long as their text. */
static bool are_logs_whole(const struct trial_result_head *head)
{
    uint64_t left = head->text_bytes[TRIAL_RESULT_LOGS];
    for (size_t i = 0; i < JOB_LOG_COUNT; i++) {
        if (head->log_bytes[i] > left) {
            return false;
        }
        left -= head->log_bytes[i];
    }
    return left == 0;
}

static bool is_inside(uint64_t start, uint64_t bytes, uint64_t end)
{
    return start <= end && bytes <= end - start;
}

static bool are_ooms_inside(const struct trial_result_head *head)
{
    const uint64_t *ends = head->text_bytes;
    bool are = true;
    for (size_t i = 0; i < head->saved_count; i++) {
        const struct saved_oom *oom = &head->saved[i];
        are &= oom->all_end <= ends[TRIAL_RESULT_ALL] &&
               oom->notable_end <= ends[TRIAL_RESULT_NOTABLE] &&
               is_inside(oom->certificate_start, oom->certificate_bytes,
                         ends[TRIAL_RESULT_CERTIFICATES]) &&
               is_inside(oom->diagnosis_start, oom->diagnosis_bytes, ends[TRIAL_RESULT_DIAGNOSES]);
    }
    return are;
}

/* The list that begins at `from` moves to the front of the bytes, and these become its memory. */
static void take_over(struct writing *bytes, const char *from, uint64_t count, struct op_list *ops)
{
    if (count == 0) {
        return;
    }
    op_list_deinit(ops);
    memmove(bytes->bytes, from, count * sizeof *ops->ops);
    ops->ops = array_resized(bytes->bytes, count * sizeof *ops->ops);
    ops->count = ops->capacity = count;
    writing_init(bytes);
}

bool trial_result_unpack(struct writing *bytes, struct trial_result *trial_result)
{
    struct trial_result_head *head = &trial_result->head;
    struct rest rest = rest_of(bytes);
    if (!unpack_head(&rest, head) || !has_length(head, rest.length) ||
        !are_lists_there(&head->findings) || !are_logs_whole(head) || !are_ooms_inside(head)) {
        return false;
    }
    if (head->has_list) {
        (void)rest_take(&rest, &trial_result->setup, sizeof trial_result->setup);
    }
    const char *longest = rest.bytes;
    rest_skip(&rest, head->list_op_counts[0] * sizeof(struct op));
    for (size_t i = 1; i < TRIAL_RESULT_LIST_COUNT; i++) {
        (void)rest_take_ops(&rest, head->list_op_counts[i], &trial_result->op_lists[i]);
    }
    for (size_t i = 0; i < TRIAL_RESULT_TEXT_COUNT; i++) {
        (void)rest_take_text(&rest, head->text_bytes[i], &trial_result->texts[i]);
    }
    take_over(bytes, longest, head->list_op_counts[0], &trial_result->ops);
    writing_deinit(bytes);
    return true;
}
