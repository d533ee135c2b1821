#include "fuzz/certificate_text.h"

#include "harness/base/check.h"
#include "harness/oracle/certificate.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A part of the text: [begin, end). */
struct proof_part {
    size_t begin, end;
};

/* Replaces the part by length bytes, which are not in the text. */
static void replace_member(struct edited_certificate *text, struct proof_part part,
                           const char *bytes, size_t length)
{
    if (text->length - (part.end - part.begin) + length >= CERTIFICATE_TEXT_BYTES) {
        return;
    }
    memmove(text->bytes + part.begin + length, text->bytes + part.end, text->length - part.end);
    memcpy(text->bytes + part.begin, bytes, length);
    text->length = text->length - (part.end - part.begin) + length;
}

/* --- parts of a kind: each finder gives the first one at or behind *at, and false where there is
 * none --- */

typedef bool find_part(const struct edited_certificate *text, size_t at, struct proof_part *part);

static bool find_number(const struct edited_certificate *text, size_t at, struct proof_part *part)
{
    while (at < text->length && !isdigit((unsigned char)text->bytes[at])) {
        at++;
    }
    part->begin = part->end = at;
    while (part->end < text->length && isdigit((unsigned char)text->bytes[part->end])) {
        part->end++;
    }
    return at < text->length;
}

/* One character that may be changed where numbers and logs are: a digit, or a letter of a log. */
static bool find_digit(const struct edited_certificate *text, size_t at, struct proof_part *part)
{
    const bool is_found = find_number(text, at, part);
    part->end = part->begin + 1;
    return is_found;
}

static bool find_line(const struct edited_certificate *text, size_t at, struct proof_part *part)
{
    const char *line_end = at < text->length ? memchr(text->bytes + at, '\n', text->length - at)
                                             : NULL;
    part->begin = at;
    part->end = line_end == NULL ? text->length : (size_t)(line_end - text->bytes) + 1;
    return at < text->length;
}

static const char *const words[] = {
    "true",    "false", "none",     "slide",     "repack",    "buffer",  "program",  "output",
    "retired", "live",  "dying",    "justified", "premature", "unknown", "rounding", "search",
    "table",   "fills", "patterns", "spans",     "stack",     "kept"};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

static bool find_word(const struct edited_certificate *text, size_t at, struct proof_part *part)
{
    for (; at < text->length; at++) {
        if (at > 0 && (isalpha((unsigned char)text->bytes[at - 1]) || text->bytes[at - 1] == '_')) {
            continue;
        }
        for (size_t i = 0; i < WORD_COUNT; i++) {
            const size_t length = strlen(words[i]);
            if (text->bytes[at] == words[i][0] && length < text->length - at &&
                memcmp(text->bytes + at, words[i], length) == 0 &&
                !isalpha((unsigned char)text->bytes[at + length]) &&
                text->bytes[at + length] != '_') {
                *part = (struct proof_part){at, at + length};
                return true;
            }
        }
    }
    return false;
}

static bool find_log_letter(const struct edited_certificate *text, size_t at,
                            struct proof_part *part)
{
    static const char key[] = "\"log\": \"";
    const char *log = memmem(text->bytes, text->length, key, sizeof key - 1);
    if (log == NULL) {
        return false;
    }
    const size_t begin = (size_t)(log - text->bytes) + sizeof key - 1;
    at = at < begin ? begin : at;
    *part = (struct proof_part){at, at + 1};
    return at < text->length && text->bytes[at] != '"';
}

/* The n-th part of the kind, modulo how many there are.  False: there is none. */
static bool choose_member(const struct edited_certificate *text, find_part *find, size_t n,
                          struct proof_part *part)
{
    size_t count = 0;
    for (size_t at = 0; find(text, at, part); at = part->end) {
        count++;
    }
    if (count == 0) {
        return false;
    }
    n %= count;
    size_t at = 0;
    for (size_t i = 0; i <= n && find(text, at, part); i++) {
        at = part->end;
    }
    return true;
}

/* --- the edits --- */

/* The line and one that comes after it change places. */
static void swap_lines(struct edited_certificate *text, struct proof_part first, size_t distance)
{
    static char lines[CERTIFICATE_TEXT_BYTES];
    struct proof_part second = first;
    for (size_t i = 0; i < distance && find_line(text, second.end, &second); i++) {
    }
    if (second.begin < first.end || second.end > text->length) {
        return;
    }
    size_t length = 0;
    const struct proof_part order[] = {second, {first.end, second.begin}, first};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        memcpy(lines + length, text->bytes + order[i].begin, order[i].end - order[i].begin);
        length += order[i].end - order[i].begin;
    }
    memcpy(text->bytes + first.begin, lines, length);
}

static void duplicate_line(struct edited_certificate *text, struct proof_part line)
{
    static char copy[CERTIFICATE_TEXT_BYTES];
    memcpy(copy, text->bytes + line.begin, line.end - line.begin);
    replace_member(text, (struct proof_part){line.end, line.end}, copy, line.end - line.begin);
}

static void edit_log(struct edited_certificate *text, struct proof_part letter, uint8_t value)
{
    static const char letters[] = {'f', 'c', 'b'};
    const char *to = &letters[value / 3 % sizeof letters];
    const struct proof_part before = {letter.begin, letter.begin};
    replace_member(text,
                   value % 3 == 0   ? letter
                   : value % 3 == 1 ? before
                                    : letter,
                   to, value % 3 == 2 ? 0 : 1);
}

static void edit_number(struct edited_certificate *text, unsigned how, struct proof_part part,
                        uint8_t value)
{
    const char digit = (char)('0' + value % 10);
    const struct proof_part before = {part.begin, part.begin};
    replace_member(text, how == 1 ? before : part, how == 3 ? "-1" : &digit,
                   how == 2   ? 0
                   : how == 3 ? 2
                              : 1);
}

static void edit_line(struct edited_certificate *text, unsigned how, struct proof_part line,
                      uint8_t value)
{
    if (how == 0) {
        swap_lines(text, line, 1 + value % 8u);
    } else if (how == 1) {
        replace_member(text, line, "", 0);
    } else {
        duplicate_line(text, line);
    }
}

void certificate_edit(struct edited_certificate *text, const uint8_t edit[CERTIFICATE_EDIT_BYTES])
{
    const unsigned way = edit[0] % 9;
    const size_t n = edit[1] | (size_t)edit[2] << 8;
    struct proof_part part;
    if (way < 4 && choose_member(text, way == 3 ? find_number : find_digit, n, &part)) {
        edit_number(text, way, part, edit[3]);
    } else if (way >= 4 && way < 7 && choose_member(text, find_line, n, &part)) {
        edit_line(text, way - 4, part, edit[3]);
    } else if (way == 7 && choose_member(text, find_word, n, &part)) {
        replace_member(text, part, words[edit[3] % WORD_COUNT],
                       strlen(words[edit[3] % WORD_COUNT]));
    } else if (way == 8 && choose_member(text, find_log_letter, n, &part)) {
        edit_log(text, part, edit[3]);
    }
}

#define ALIGN_BYTES_MAX (UINT64_C(1) << 30)
#define CAPACITY_BYTES_MAX (UINT64_C(1) << 50)
#define SIZE_BYTES_MAX (UINT64_C(1) << 62)
enum { HEADER_BYTES_MAX = 1 << 20 };

/* The index of the word among the count words; false: it is none of them. */
static bool find_index(const char *word, const char *const *known, unsigned count, unsigned *index)
{
    for (*index = 0; *index < count; (*index)++) {
        if (strcmp(word, known[*index]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static bool is_align(const struct oom *oom, uint64_t align_bytes)
{
    return is_power_of_two(align_bytes) && align_bytes >= oom->granule_bytes &&
           align_bytes <= ALIGN_BYTES_MAX;
}

static bool is_stack(const struct oom *oom, uint64_t stack_bytes)
{
    return stack_bytes % oom->granule_bytes == 0 && stack_bytes <= SIZE_BYTES_MAX;
}

/* --- what is read --- */

static bool read_device(const json_t *root, struct oom *oom)
{
    json_int_t capacity, granule;
    if (json_unpack((json_t *)root, "{s:{s:I,s:I}}", "device", "capacity", &capacity, "granule",
                    &granule) != 0) {
        return false;
    }
    oom->capacity_bytes = (uint64_t)capacity;
    oom->granule_bytes = (uint64_t)granule;
    return is_power_of_two(oom->granule_bytes) && oom->granule_bytes <= ALIGN_BYTES_MAX &&
           oom->capacity_bytes > 0 && oom->capacity_bytes <= CAPACITY_BYTES_MAX &&
           oom->capacity_bytes % oom->granule_bytes == 0;
}

/* Both members are there or none, for what does not move. */
static bool read_placement(const json_t *contract, struct oom *oom)
{
    static const char *const placements[] = {"ranges", "hidden", "pages"};
    const char *word = NULL;
    json_int_t header;
    unsigned placement;
    if (json_object_get(contract, "placement") == NULL) {
        return json_object_get(contract, "header") == NULL;
    }
    if (json_unpack((json_t *)contract, "{s:s,s:I}", "placement", &word, "header", &header) != 0 ||
        !find_index(word, placements, 3, &placement)) {
        return false;
    }
    const bool has_ranges = placement == PLACEMENT_RANGES;
    oom->placement = (enum placement)placement;
    oom->header_bytes = (uint64_t)header;
    return header >= 0 && header <= (has_ranges ? HEADER_BYTES_MAX : 0) &&
           oom->header_bytes % oom->granule_bytes == 0 &&
           ((has_ranges && header == 0) || oom->defrag == DEFRAG_NONE);
}

static bool read_contract(const json_t *root, struct oom *oom)
{
    static const char *const defrags[] = {"none", "slide", "repack"};
    const char *word = NULL;
    unsigned defrag;
    int drains, evicts, program_evicts, refused[FAULT_CALL_COUNT];
    if (json_unpack((json_t *)root, "{s:{s:s,s:b,s:b,s:b},s:{s:b,s:b,s:b,s:b}}", "contract",
                    "defrag", &word, "drains", &drains, "evicts", &evicts, "program_evicts_program",
                    &program_evicts, "refused", "copy", &refused[FAULT_COPY], "wait",
                    &refused[FAULT_WAIT], "unload", &refused[FAULT_UNLOAD], "host_memory",
                    &refused[FAULT_HOST_MEMORY]) != 0 ||
        !find_index(word, defrags, 3, &defrag)) {
        return false;
    }
    oom->defrag = (enum defrag_contract)defrag;
    oom->drains = drains != 0;
    oom->evicts = evicts != 0;
    oom->program_evicts_program = program_evicts != 0;
    for (unsigned i = 0; i < FAULT_CALL_COUNT; i++) {
        oom->faults_fired |= refused[i] != 0 ? 1u << i : 0;
    }
    return read_placement(json_object_get(root, "contract"), oom);
}

static bool read_request(const json_t *root, struct oom *oom)
{
    static const char *const classes[] = {"buffer", "program"};
    const char *word = NULL;
    unsigned class;
    json_int_t bytes, align, stack, program;
    if (json_unpack((json_t *)root, "{s:{s:s,s:I,s:I,s:I,s:I}}", "request", "class", &word, "bytes",
                    &bytes, "align", &align, "stack", &stack, "program", &program) != 0 ||
        !find_index(word, classes, 2, &class)) {
        return false;
    }
    const json_int_t block_count = (json_int_t)json_array_size(json_object_get(root, "blocks"));
    const bool is_program = class == REQUEST_PROGRAM;
    oom->request = (struct oom_request){.class = (enum request_class) class,
                                        .size_bytes = (uint64_t)bytes,
                                        .align_bytes = (uint64_t)align,
                                        .stack_bytes = (uint64_t)stack,
                                        .own_op = program == -1 ? OP_NONE : (uint32_t)program};
    return bytes >= (is_program ? 0 : 1) && oom->request.size_bytes <= SIZE_BYTES_MAX &&
           is_align(oom, oom->request.align_bytes) && is_stack(oom, oom->request.stack_bytes) &&
           (is_program ? align == (json_int_t)oom->granule_bytes : stack == 0) && program >= -1 &&
           program < block_count && (program == -1 || bytes == 0);
}

/* -1 is never. */
static bool read_time(json_int_t number, uint64_t *time_ns)
{
    *time_ns = number == -1 ? DELAY_NEVER : (uint64_t)number;
    return number >= -1;
}

static bool read_block(const json_t *json, struct oom_block *block)
{
    static const char *const kinds[] = {"buffer", "output", "program", "retired"};
    static const char *const states[] = {"live", "dying", "kept"};
    const char *kind_word = NULL, *state_word = NULL;
    json_int_t address, size, align, stack, holds, used_until, freed_at;
    unsigned kind, state;
    if (json_unpack((json_t *)json, "{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "kind", &kind_word,
                    "state", &state_word, "address", &address, "size", &size, "align", &align,
                    "stack", &stack, "holds", &holds, "used_until", &used_until, "freed_at",
                    &freed_at) != 0 ||
        !find_index(kind_word, kinds, 4, &kind) || !find_index(state_word, states, 3, &state)) {
        return false;
    }
    block->address = (uint64_t)address;
    block->size_bytes = (uint64_t)size;
    block->align_bytes = (uint64_t)align;
    block->stack_bytes = (uint64_t)stack;
    block->hold_count = holds < UINT32_MAX ? (uint32_t)holds : UINT32_MAX;
    block->kind = (uint8_t)kind;
    block->state = state == 0 ? BLOCK_LIVE : BLOCK_DYING;
    block->is_kept = state == 2;
    return holds >= 0 && read_time(used_until, &block->used_until_ns) &&
           read_time(freed_at, &block->freed_at_ns);
}

static bool is_copy_refused(const struct oom *oom)
{
    return (oom->faults_fired & (1u << FAULT_COPY | 1u << FAULT_HOST_MEMORY)) != 0;
}

/* A block without an address is looked at as if it were alone. */
static bool is_unplaced_in_range(const struct oom *oom, const struct oom_block *block)
{
    return block->address == 0 && block->align_bytes == oom->granule_bytes &&
           block->size_bytes > 0 && block->size_bytes <= oom->capacity_bytes &&
           block->size_bytes % oom->granule_bytes == 0 && is_stack(oom, block->stack_bytes) &&
           (block->kind == BLOCK_PROGRAM ? oom->placement == PLACEMENT_PAGES
                                         : block->stack_bytes == 0) &&
           (block->state == BLOCK_DYING || block->freed_at_ns == 0);
}

/* A place and numbers that fit the device and the contract. */
static bool is_block_in_range(const struct oom *oom, const struct oom_block *block,
                              uint64_t floor_bytes)
{
    if (oom->placement != PLACEMENT_RANGES) {
        return is_unplaced_in_range(oom, block);
    }
    const bool is_absent = oom_block_is_absent(block);
    const uint64_t address = is_absent ? 0 : block->address;
    return (is_absent ? oom->defrag == DEFRAG_REPACK && !is_copy_refused(oom)
                      : address >= floor_bytes) &&
           is_align(oom, block->align_bytes) && address % block->align_bytes == 0 &&
           address <= oom->capacity_bytes && block->size_bytes > 0 &&
           block->size_bytes % oom->granule_bytes == 0 &&
           block->size_bytes <= oom->capacity_bytes - address &&
           is_stack(oom, block->stack_bytes) &&
           (block->kind == BLOCK_PROGRAM || block->stack_bytes == 0) &&
           (block->state == BLOCK_DYING || block->freed_at_ns == 0);
}

/* A state that some moment of a run could show.  DELAY_NEVER is later than all times. */
static bool is_block_possible(const struct oom *oom, const struct oom_block *block)
{
    if (block->kind == BLOCK_RETIRED) {
        return !block->is_kept && block->state == BLOCK_LIVE && !oom_block_is_absent(block) &&
               block->hold_count == 1 && block->used_until_ns == 0;
    }
    if (block->kind == BLOCK_PROGRAM &&
        (block->hold_count > 0 || block->align_bytes != oom->granule_bytes ||
         (block->state == BLOCK_DYING && block->freed_at_ns != block->used_until_ns))) {
        return false;
    }
    if (block->is_kept && (block->kind == BLOCK_PROGRAM || block->hold_count > 1 ||
                           block->used_until_ns != 0 || block->align_bytes != oom->granule_bytes)) {
        return false;
    }
    return block->state == BLOCK_LIVE || (block->freed_at_ns >= block->used_until_ns &&
                                          (block->freed_at_ns > 0 || block->hold_count > 0));
}

struct made {
    json_int_t op;
    const struct oom_block *block;
};

static int compare_made(const void *left, const void *right)
{
    const struct made *a = left, *b = right;
    return a->op != b->op ? (a->op > b->op) - (a->op < b->op)
                          : (a->block > b->block) - (a->block < b->block);
}

/* Neighbours in the order of their addresses. */
static bool may_have_one_op(const struct oom_block *below, const struct oom_block *above)
{
    return below->is_kept && above->is_kept && below->hold_count == above->hold_count &&
           below->freed_at_ns == above->freed_at_ns &&
           below->address + below->size_bytes < above->address;
}

/* Each block was made by another op, which a list can have; but for pieces of what one left. */
static bool have_own_ops(const json_t *blocks, const struct oom *oom)
{
    bool are_different = true;
    struct made *made = calloc(oom->block_count + 1, sizeof *made);
    CHECK(made != NULL);
    for (size_t i = 0; i < oom->block_count; i++) {
        const json_t *op = json_object_get(json_array_get(blocks, i), "op");
        made[i] = (struct made){json_integer_value(op), &oom->blocks[i]};
        are_different = are_different && json_is_integer(op) && made[i].op >= 0 &&
                        made[i].op <= UINT32_MAX;
    }
    qsort(made, oom->block_count, sizeof *made, compare_made);
    for (size_t i = 1; i < oom->block_count; i++) {
        are_different = are_different && (made[i - 1].op != made[i].op ||
                                          may_have_one_op(made[i - 1].block, made[i].block));
    }
    free(made);
    return are_different;
}

/* Nothing moves next to memory that is kept, and there are buffers and outputs alone. */
static bool may_keep(const struct oom *oom)
{
    bool has_kept = false, has_others = oom->request.class == REQUEST_PROGRAM;
    for (size_t i = 0; i < oom->block_count; i++) {
        has_kept = has_kept || oom->blocks[i].is_kept;
        has_others = has_others || oom->blocks[i].kind > BLOCK_OUTPUT;
    }
    return !has_kept || (oom->defrag == DEFRAG_NONE && !has_others);
}

/* True if everything there lies above the stacks that are reserved, and the program that is
 * executed is live. */
static bool is_state_possible(const struct oom *oom)
{
    const struct oom_block *first = oom->blocks;
    const bool has_ranges = oom->placement == PLACEMENT_RANGES;
    if (has_ranges && oom->block_count > 0 && !oom_block_is_absent(first) &&
        first->address < oom_reserved_bytes(oom)) {
        return false;
    }
    if (oom->placement == PLACEMENT_HIDDEN && oom->request.class == REQUEST_PROGRAM) {
        return false;
    }
    if (oom->request.own_op == OP_NONE) {
        return oom->request.size_bytes > 0;
    }
    const struct oom_block *own = &oom->blocks[oom->request.own_op];
    return own->kind == BLOCK_PROGRAM && own->state == BLOCK_LIVE &&
           own->stack_bytes == oom->request.stack_bytes;
}

static bool read_blocks(const json_t *root, struct oom *oom)
{
    const json_t *blocks = json_object_get(root, "blocks");
    const size_t count = json_array_size(blocks);
    uint64_t floor_bytes = 0;
    oom->blocks = calloc(count + 1, sizeof *oom->blocks);
    CHECK(oom->blocks != NULL);
    for (size_t i = 0; i < count; i++) {
        struct oom_block *block = &oom->blocks[i];
        if (!read_block(json_array_get(blocks, i), block) ||
            !is_block_in_range(oom, block, floor_bytes) || !is_block_possible(oom, block)) {
            return false;
        }
        block->op = (uint32_t)i;
        floor_bytes = oom_block_is_absent(block) ? UINT64_MAX : block->address + block->size_bytes;
    }
    oom->block_count = oom->block_capacity = count;
    return json_is_array(blocks) && have_own_ops(blocks, oom) && may_keep(oom);
}

static bool read_claim(const json_t *root, struct certificate_claim *claim)
{
    static const char *const names[] = {"justified", "premature", "unknown"};
    static const enum verdict_kind kinds[] = {VERDICT_JUSTIFIED, VERDICT_PREMATURE,
                                              VERDICT_UNKNOWN};
    const char *word = NULL;
    unsigned index;
    if (json_unpack((json_t *)root, "{s:s}", "claim", &word) != 0 ||
        !find_index(word, names, 3, &index)) {
        return false;
    }
    claim->kind = kinds[index];
    return json_integer_value(json_object_get(root, "version")) == CERTIFICATE_VERSION &&
           read_device(root, &claim->oom) && read_contract(root, &claim->oom) &&
           read_request(root, &claim->oom) && read_blocks(root, &claim->oom) &&
           is_state_possible(&claim->oom);
}

bool certificate_read(const char *text, size_t length, struct certificate_claim *claim)
{
    *claim = (struct certificate_claim){0};
    json_t *root = json_loadb(text, length, 0, NULL);
    const bool is_read = root != NULL && read_claim(root, claim);
    json_decref(root);
    if (!is_read) {
        oom_deinit(&claim->oom);
        *claim = (struct certificate_claim){0};
    }
    return is_read;
}
