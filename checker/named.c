/* The list that a certificate names, and whether its facts are those of a list and of its log. */
#include "checker/private/check.h"
#include "checker/private/replay.h"

#include <stdlib.h>
#include <string.h>

enum { HASH_DIGITS = HASH_TEXT_BYTES - 1 };
/* Regions begin at multiples of this on the device of a run. */
static const int64_t run_region_align = 1 << 21;

/* --- the member `list` --- */

struct block_named {
    const char *hash, *target;
    json_int_t op, host;
    json_t *options;
};

static bool unpack_list(struct check *check, struct block_named *named)
{
    return check_unpack(check, check->list, "list", "{s:s,s:I,s:I,s:s,s:o}", "sha256", &named->hash,
                        "op", &named->op, "host", &named->host, "target", &named->target, "options",
                        &named->options);
}

static bool are_strings(json_t *options)
{
    for (void *at = json_object_iter(options); at != NULL;
         at = json_object_iter_next(options, at)) {
        if (json_string_value(json_object_iter_value(at)) == NULL) {
            return false;
        }
    }
    return json_typeof(options) == JSON_OBJECT;
}

void named_read(struct check *check)
{
    struct block_named named;
    if (json_typeof(check->list) == JSON_NULL || !unpack_list(check, &named)) {
        return;
    }
    check_require(check,
                  strlen(named.hash) == HASH_DIGITS &&
                      strspn(named.hash, "0123456789abcdef") == HASH_DIGITS &&
                      is_in_range(named.op, 0, UINT32_MAX, 1) &&
                      is_in_range(named.host, 0, HOSTS_MAX - 1, 1) && are_strings(named.options),
                  "list: sha256, op, host or options is wrong");
}

/* --- the op by the list --- */

static void compare_number(struct check *check, json_t *json, const char *what, const char *name,
                           int64_t fact)
{
    const json_int_t number = json_integer_value(json_object_get(json, name));
    check_require(check, number == fact, "%s: %s is %lld, by %s %lld", what, name,
                  (long long)number, check->source, (long long)fact);
}

static void compare_word(struct check *check, json_t *json, const char *what, const char *name,
                         const char *fact)
{
    const char *word = json_string_value(json_object_get(json, name));
    check_require(check, strcmp(word, fact) == 0, "%s: %s is %s, by %s %s", what, name, word,
                  check->source, fact);
}

static bool is_execute_of_nothing(const struct list *list, const struct list_op *op)
{
    return op->kind == OP_EXECUTE && (op->ref == NO_OP || list->ops[op->ref].kind != OP_LOAD);
}

static void compare_op(struct check *check, const struct list *list,
                       const struct block_named *named)
{
    char hash[HASH_TEXT_BYTES];
    if (!check_require(check, named->op < (json_int_t)list->op_count, "list: it has no op %lld",
                       (long long)named->op)) {
        return;
    }
    const struct list_op *op = &list->ops[named->op];
    list_hash(list, (size_t)named->op, hash);
    check_require(check, strcmp(hash, named->hash) == 0,
                  "list: its SHA-256 is %s, the certificate names %s", hash, named->hash);
    check_require(check, op_is_request(op) && !is_execute_of_nothing(list, op),
                  "list: op %lld cannot be out of memory", (long long)named->op);
    check_require(check, op->host == named->host, "list: op %lld is of host %u, not %lld",
                  (long long)named->op, op->host, (long long)named->host);
    check_require(check, word_is(list->target, named->target), "list: its target is another one");
    check_require(check, list_has_options(list, named->options),
                  "list: its target options are others");
}

static void compare_device(struct check *check, const struct list *list)
{
    json_t *device = json_object_get(check->root, "device");
    compare_number(check, device, "device", "capacity", (int64_t)list->capacity);
    if (list->granule > 0) {
        compare_number(check, device, "device", "granule", (int64_t)list->granule);
    }
    if (check->regions.are_there) {
        compare_number(check, device, "device", "region_align", run_region_align);
    }
}

/* The alignment that the document should have for one that was asked for. */
static int64_t find_align(const struct check *check, int64_t asked)
{
    const json_t *request = json_object_get(check->root, "request");
    const int64_t bytes = json_integer_value(json_object_get(request, "bytes"));
    return check->aligns_naturally && bytes > asked && bytes <= check->capacity ? bytes : asked;
}

/* Compares what the op asks for; what an execute needs depends on the state. */
static void compare_request(struct check *check, const struct fact_request *fact, bool has_bytes)
{
    json_t *request = json_object_get(check->root, "request");
    compare_word(check, request, "request", "class", fact->class);
    compare_number(check, request, "request", "align", find_align(check, fact->align));
    compare_number(check, request, "request", "stack", fact->stack);
    if (has_bytes) {
        compare_number(check, request, "request", "bytes", fact->bytes);
    }
}

/* --- the state by list and log --- */

static void compare_flag(struct check *check, const char *what, const char *name, bool fact)
{
    const json_t *flag = json_object_get(json_object_get(check->root, what), name);
    const bool is_said = json_typeof(flag) == JSON_TRUE;
    check_require(check, is_said == fact, "%s: %s is %s, by %s %s", what, name,
                  is_said ? "true" : "false", check->source, fact ? "true" : "false");
}

static void compare_contract(struct check *check, const struct promise *promise)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    compare_number(check, json_object_get(check->root, "device"), "device", "granule",
                   (int64_t)promise->granule);
    compare_word(check, json_object_get(check->root, "contract"), "contract", "defrag",
                 defrags[promise->defrag]);
    compare_flag(check, "contract", "drains", promise->drains != 0);
    compare_flag(check, "contract", "evicts", promise->evicts != 0);
    compare_flag(check, "contract", "program_evicts_program", promise->program_evicts_program != 0);
    check_require(check, check->regions.are_there == (promise->grows != 0),
                  "contract: grows is %s, by %s %s", check->regions.are_there ? "true" : "false",
                  check->source, promise->grows != 0 ? "true" : "false");
    if (check->regions.are_there) {
        compare_flag(check, "contract", "trims", promise->trims != 0);
        compare_number(check, json_object_get(check->root, "contract"), "contract", "step",
                       (int64_t)promise->step);
    }
    check_require(check, check->aligns_naturally == (promise->aligns_naturally != 0),
                  "contract: aligns_naturally is not that of %s", check->source);
    check_require(check,
                  check->placement == (size_t)promise->placement &&
                      check->header == (json_int_t)promise->header,
                  "contract: placement or header is not that of %s", check->source);
}

static void compare_refused(struct check *check, unsigned refused)
{
    compare_flag(check, "refused", "copy", (refused & REFUSED_COPY) != 0);
    compare_flag(check, "refused", "wait", (refused & REFUSED_WAIT) != 0);
    compare_flag(check, "refused", "unload", (refused & REFUSED_UNLOAD) != 0);
    compare_flag(check, "refused", "host_memory", (refused & REFUSED_HOST_MEMORY) != 0);
    if (check->regions.are_there) {
        compare_flag(check, "refused", "region", (refused & REFUSED_REGION) != 0);
    }
}

static void compare_regions(struct check *check, const struct fact_regions *facts)
{
    const struct regions *regions = &check->regions;
    check_require(check, regions->range_count == facts->count,
                  "device: there are %zu regions, by %s %zu", regions->range_count, check->source,
                  facts->count);
    for (size_t i = 0; i < regions->range_count && check->result == CERTIFICATE_VALID; i++) {
        check_require(check,
                      (uint64_t)regions->ranges[i][0] == facts->ranges[i][0] &&
                          (uint64_t)regions->ranges[i][1] == facts->ranges[i][1],
                      "regions[%zu]: it is another one, by %s", i, check->source);
    }
}

static void compare_program(struct check *check, uint32_t fact)
{
    const bool is_named = check->own_program >= 0;
    check_require(check,
                  is_named == (fact != NO_OP) &&
                      (!is_named || check->blocks[check->own_program].op == fact),
                  "request: program is not the one of list and observations");
}

static void compare_block(struct check *check, size_t i, const struct fact_block *fact)
{
    json_t *block = json_array_get(json_object_get(check->root, "blocks"), i);
    char what[32];
    snprintf(what, sizeof what, "blocks[%zu]", i);
    const struct {
        const char *name;
        int64_t fact;
    } numbers[] = {{"address", fact->address},  {"size", fact->size},
                   {"align", fact->align},      {"stack", fact->stack},
                   {"holds", fact->holds},      {"used_until", fact->used_until},
                   {"freed_at", fact->freed_at}};
    compare_word(check, block, what, "kind", fact->kind);
    compare_word(check, block, what, "state", fact->state);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        compare_number(check, block, what, numbers[k].name, numbers[k].fact);
    }
}

/* A block of the document. */
struct named_place {
    json_int_t op;
    size_t index;
};

static int compare_places(const void *left, const void *right)
{
    const struct named_place *a = left, *b = right;
    return a->op != b->op ? (a->op > b->op) - (a->op < b->op)
                          : (a->index > b->index) - (a->index < b->index);
}

/* Both are in the order of their ops; behind the last fact is one that is none. */
static void compare_sorted(struct check *check, const struct named_place *places,
                           const struct rebuilt_facts *facts)
{
    const struct fact_block *fact = facts->blocks, *end = fact + facts->block_count;
    for (size_t i = 0; i < check->block_count; i++, fact++) {
        check_require(check, fact == end || places[i].op <= fact->op,
                      "blocks: that of op %lld is missing, by list and observations",
                      (long long)fact->op);
        check_require(check, fact < end && places[i].op == fact->op,
                      "blocks[%zu]: op %lld has no block, by list and observations",
                      places[i].index, (long long)places[i].op);
        if (check->result != CERTIFICATE_VALID) {
            return;
        }
        compare_block(check, places[i].index, fact);
    }
    check_require(check, fact == end,
                  "blocks: that of op %lld is missing, by list and observations",
                  (long long)fact->op);
}

static void compare_blocks(struct check *check, const struct rebuilt_facts *facts)
{
    struct named_place *places = calloc(check->block_count + 1, sizeof *places);
    if (check_has_memory(check, places != NULL)) {
        for (size_t i = 0; i < check->block_count; i++) {
            places[i] = (struct named_place){check->blocks[i].op, i};
        }
        qsort(places, check->block_count, sizeof *places, compare_places);
        compare_sorted(check, places, facts);
    }
    free(places);
}

static void compare_state(struct check *check, const struct certificate_history *history, size_t op)
{
    char reason[CERTIFICATE_REASON_BYTES];
    struct rebuilt_facts facts = {.hides_kept = check->placement != RANGES &&
                                                strcmp(check->claim, "justified") == 0};
    if (!check_require(check, op < history->log.line_count, "observations: they end before op %zu",
                       op) ||
        !check_require(check, history->log.lines[op].answer == ANSWER_NO_MEMORY,
                       "observations: op %zu is not answered no_memory", op)) {
        return;
    }
    const enum certificate_result result = facts_rebuild(history, op, &facts, reason);
    if (check_require(check, result == CERTIFICATE_VALID, "%s", reason)) {
        compare_refused(check, history->log.lines[op].refused);
        compare_request(check, &facts.request, true);
        compare_program(check, facts.request.program);
        compare_blocks(check, &facts);
        compare_regions(check, &facts.regions);
    } else {
        check->result = result;
    }
    free(facts.blocks);
    free(facts.regions.ranges);
}

/* --- all of it --- */

static void compare_all(struct check *check, const struct certificate_history *history,
                        const struct block_named *named)
{
    const struct list *list = &history->list;
    const size_t op = (size_t)named->op;
    const struct promise *promise = &history->log.promises[named->host];
    const struct rounding *rounding = history->has_log ? &promise->rounding : &list->rounding;
    const struct fact_request request = request_of_op(list, op, (uint64_t)check->granule, rounding);
    if (history->has_log) {
        compare_contract(check, promise);
    }
    compare_request(check, &request,
                    list->ops[op].kind != OP_EXECUTE &&
                        (history->has_log || rounding_is_exact(rounding)));
    if (history->has_log && !list->has_lanes && check->result == CERTIFICATE_VALID) {
        compare_state(check, history, op);
    }
}

void named_compare(struct check *check, const struct certificate_history *history)
{
    struct block_named named;
    check->source = history->has_log ? "list and observations" : "the list";
    if (check_require(check, json_typeof(check->list) != JSON_NULL,
                      "list: the certificate names none") &&
        unpack_list(check, &named)) {
        compare_op(check, &history->list, &named);
        compare_device(check, &history->list);
        assumed_compare(check, &history->list);
    }
    if (check->result == CERTIFICATE_VALID) {
        compare_all(check, history, &named);
    }
}
