#include "recording/lane_columns.h"

#include "harness/base/array.h"
#include "harness/base/check.h"
#include "harness/op/ops_file.h"
#include "harness/oracle/rule.h"
#include "present/screen.h"
#include "present/wrap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries and rows beyond this many are not shown: nobody reads them. */
enum { ENTRY_COUNT_MAX = 1 << 18, ROW_COUNT_MAX = 4000 };
enum { TURN_WIDTH = 5, GAP_WIDTH = 2, DEVICE_WIDTH = 12, CELL_WIDTH_MIN = 16, CELL_BYTES = 64 };
enum { COLUMN_DEVICE = LANE_COUNT_MAX, COLUMN_COUNT = LANE_COUNT_MAX + 1 };

enum entry_kind { ENTRY_STEP, ENTRY_RETURN, ENTRY_COMPLETION };

/* An entry of the run: entries stand in the order in which they happened. */
struct entry {
    uint8_t kind; /* enum entry_kind */
    uint8_t lane;
    uint8_t step; /* enum step_kind */
    uint32_t op;
    uint32_t object; /* its number; 0 = none */
    uint64_t event;
};

struct lane_columns {
    struct op_list ops; /* without the schedule */
    uint8_t client_count;
    struct entry *entries; /* count of them */
    size_t count, capacity;
    uint64_t untold_count;
    uint8_t current; /* the lane that runs */
};

struct lane_columns *lane_columns_create(const struct op_list *ops)
{
    struct schedule_switch *switches;
    struct lane_columns *columns = calloc(1, sizeof *columns);
    CHECK(columns != NULL);
    op_list_init(&columns->ops);
    (void)lanes_take_schedule(ops, &columns->ops, &switches);
    free(switches);
    columns->client_count = lanes_count(&columns->ops);
    return columns;
}

void lane_columns_destroy(struct lane_columns *columns)
{
    op_list_deinit(&columns->ops);
    free(columns->entries);
    free(columns);
}

static void add_entry(struct lane_columns *columns, const struct entry *entry)
{
    if (columns->count == ENTRY_COUNT_MAX) {
        columns->untold_count++;
        return;
    }
    columns->entries = array_grown(columns->entries, columns->count, &columns->capacity,
                                   sizeof *columns->entries);
    columns->entries[columns->count++] = *entry;
}

/* The device is one object among the others, and every call touches all of it: its number says
 * nothing. */
static void add_step(void *context, const struct point *point, const void *object,
                     const void *place)
{
    struct lane_columns *columns = context;
    struct scheduler *scheduler = scheduler_current();
    (void)place;
    const bool is_named = object != NULL && point->kind != STEP_DEVICE && scheduler != NULL;
    columns->current = point->lane;
    add_entry(columns,
              &(struct entry){.kind = ENTRY_STEP,
                              .lane = point->lane,
                              .step = point->kind,
                              .op = point->op,
                              .object = is_named ? scheduler_object(scheduler, object, NULL)->number
                                                 : 0});
}

static void add_completion(void *context, uint64_t event)
{
    add_entry(context, &(struct entry){.kind = ENTRY_COMPLETION, .event = event});
}

static void add_return(void *context, uint32_t op)
{
    struct lane_columns *columns = context;
    add_entry(columns, &(struct entry){.kind = ENTRY_RETURN, .lane = columns->current, .op = op});
}

struct scheduler_trace lane_columns_trace(struct lane_columns *columns)
{
    return (struct scheduler_trace){columns, add_step};
}

struct lanes_watch lane_columns_watch(struct lane_columns *columns)
{
    return (struct lanes_watch){columns, add_completion, add_return};
}

/* --- rows --- */

struct printing {
    const struct lane_columns *columns;
    struct writing *text;
    uint32_t broken_op;
    const char *broken;
    bool *has_returned; /* by op */
    int widths[COLUMN_COUNT];
    bool is_used[COLUMN_COUNT];
    uint64_t turn, told_turn; /* the last one with a row */
    uint64_t row_count;
    bool is_told; /* the mark beside the op that broke */
};

/* A row has one cell, which may reach beyond its column. */
static void put_row(struct printing *printing, unsigned column, const char *cell)
{
    char turn[24] = "";
    if (printing->row_count++ >= ROW_COUNT_MAX) {
        return;
    }
    if (printing->told_turn != printing->turn) {
        snprintf(turn, sizeof turn, "%" PRIu64, printing->turn);
    }
    printing->told_turn = printing->turn;
    writing_append_format(printing->text, "%*s", TURN_WIDTH, turn);
    size_t indent = TURN_WIDTH + GAP_WIDTH;
    for (unsigned i = 0; i < column; i++) {
        indent += printing->is_used[i] ? (size_t)printing->widths[i] + GAP_WIDTH : 0;
    }
    const size_t width = screen_columns(), least = indent + CELL_WIDTH_MIN;
    writing_append_format(printing->text, "%*s", (int)indent - TURN_WIDTH, "");
    wrap_append(printing->text, cell, indent, width < least ? least : width);
    writing_append(printing->text, "\n");
}

static void put_mark(struct printing *printing, uint8_t lane, uint32_t op)
{
    char cell[CELL_BYTES];
    if (printing->broken == NULL || printing->is_told || op != printing->broken_op) {
        return;
    }
    snprintf(cell, sizeof cell, "  <== %s", printing->broken);
    put_row(printing, lane, cell);
    printing->is_told = true;
}

/* Prints where the lane stands at the end of its turn: its next step, if it has one. */
static void put_stop(struct printing *printing, uint8_t lane, size_t from)
{
    const struct lane_columns *columns = printing->columns;
    char cell[CELL_BYTES], object[24] = "";
    size_t i = from;
    while (i < columns->count &&
           (columns->entries[i].kind != ENTRY_STEP || columns->entries[i].lane != lane)) {
        i++;
    }
    if (i == columns->count) {
        put_row(printing, lane, "  stops here");
        return;
    }
    const struct entry *next = &columns->entries[i];
    if (next->object != 0) {
        snprintf(object, sizeof object, " #%lu", (unsigned long)next->object);
    }
    snprintf(cell, sizeof cell, "  before %s%s", step_kind_name((enum step_kind)next->step),
             object);
    put_row(printing, lane, cell);
}

/* The part of an op, or several whole ops, that a lane did in one turn. */
struct lane_piece {
    uint32_t first, last;
    uint32_t count;
    bool has_begin, has_return;
};

static void put_piece(struct printing *printing, uint8_t lane, const struct lane_piece *piece)
{
    char cell[CELL_BYTES], op[OP_TEXT_BYTES];
    if (piece->count > 1) {
        snprintf(cell, sizeof cell, "%lu-%lu: %lu ops", (unsigned long)piece->first,
                 (unsigned long)piece->last, (unsigned long)piece->count);
    } else if (piece->has_begin) {
        struct op shown = printing->columns->ops.ops[piece->first];
        shown.lane = 0; /* the column says it */
        snprintf(cell, sizeof cell, "%lu %.48s", (unsigned long)piece->first, op_print(&shown, op));
    } else {
        snprintf(cell, sizeof cell, "%lu %s", (unsigned long)piece->first,
                 piece->has_return ? "returns" : "continues");
    }
    put_row(printing, lane, cell);
    if (piece->has_return) {
        put_mark(printing, lane, piece->last);
    }
}

/* A whole op behind a whole op is told with it, but for the one that broke. */
static bool may_join_piece(const struct printing *printing, const struct lane_piece *piece,
                           const struct lane_piece *next)
{
    return piece->count > 0 && piece->has_begin && piece->has_return && next->has_begin &&
           next->has_return && !(printing->broken != NULL && next->first == printing->broken_op);
}

static void flush_piece(struct printing *printing, uint8_t lane, struct lane_piece *piece)
{
    if (piece->count > 0) {
        put_piece(printing, lane, piece);
    }
    piece->count = 0;
}

/* The entries [first, end) are one turn of a client. */
static void put_client_turn(struct printing *printing, size_t first, size_t end)
{
    const struct lane_columns *columns = printing->columns;
    const uint8_t lane = columns->entries[first].lane;
    struct lane_piece told = {0}, open = {0};
    for (size_t i = first; i < end; i++) {
        const struct entry *entry = &columns->entries[i];
        if (entry->op == STEP_OP_NONE || printing->has_returned[entry->op]) {
            continue; /* between two ops it waits for what others do */
        }
        if (open.count == 0) {
            open = (struct lane_piece){.first = entry->op, .last = entry->op, .count = 1};
        }
        open.has_begin |= entry->kind == ENTRY_STEP && entry->step == STEP_OP;
        if (entry->kind != ENTRY_RETURN) {
            continue;
        }
        open.has_return = printing->has_returned[entry->op] = true;
        if (may_join_piece(printing, &told, &open)) {
            told.last = open.last;
            told.count++;
        } else {
            flush_piece(printing, lane, &told);
            told = open;
        }
        open.count = 0;
    }
    flush_piece(printing, lane, &told);
    if (open.count == 0) {
        return;
    }
    put_piece(printing, lane, &open);
    put_stop(printing, lane, end);
}

static void put_thread_turn(struct printing *printing, size_t first, size_t end)
{
    const struct entry *entries = printing->columns->entries;
    const uint8_t lane = entries[first].lane;
    put_row(printing, lane, entries[first].step == STEP_START ? "starts" : "continues");
    if (entries[end - 1].step == STEP_END) {
        put_row(printing, lane, "  ends");
    } else {
        put_stop(printing, lane, end);
    }
}

static size_t find_turn_end(const struct lane_columns *columns, size_t first)
{
    size_t end = first + 1;
    while (end < columns->count && columns->entries[end].kind != ENTRY_COMPLETION &&
           columns->entries[end].lane == columns->entries[first].lane) {
        end++;
    }
    return end;
}

static void put_rows(struct printing *printing)
{
    const struct lane_columns *columns = printing->columns;
    for (size_t first = 0, end; first < columns->count; first = end) {
        const struct entry *entry = &columns->entries[first];
        char cell[CELL_BYTES];
        end = find_turn_end(columns, first);
        printing->turn = printing->told_turn + 1;
        if (entry->kind == ENTRY_COMPLETION) {
            end = first + 1;
            snprintf(cell, sizeof cell, "event %" PRIu64, (entry->event - 1));
            put_row(printing, COLUMN_DEVICE, cell);
        } else if (entry->lane < columns->client_count) {
            put_client_turn(printing, first, end);
        } else {
            put_thread_turn(printing, first, end);
        }
    }
}

/* --- columns --- */

enum { COLUMN_NAME_BYTES = 24 };

static int name_column(const struct printing *printing, unsigned i, char name[COLUMN_NAME_BYTES])
{
    return i == COLUMN_DEVICE
               ? snprintf(name, COLUMN_NAME_BYTES, "device")
               : snprintf(name, COLUMN_NAME_BYTES, "%s %u",
                          i < printing->columns->client_count ? "lane" : "thread", i);
}

static void choose_widths(struct printing *printing)
{
    const struct lane_columns *columns = printing->columns;
    char name[COLUMN_NAME_BYTES];
    int lane_count = 0, least = 0;
    for (size_t i = 0; i < columns->count; i++) {
        printing->is_used[columns->entries[i].kind == ENTRY_COMPLETION
                              ? COLUMN_DEVICE
                              : columns->entries[i].lane] = true;
    }
    for (unsigned i = 0; i < COLUMN_DEVICE; i++) {
        const int length = printing->is_used[i] ? name_column(printing, i, name) : 0;
        lane_count += printing->is_used[i];
        least = length > least ? length : least;
    }
    const int device_width = printing->is_used[COLUMN_DEVICE] ? DEVICE_WIDTH + GAP_WIDTH : 0;
    const int room = (int)screen_columns() - TURN_WIDTH - device_width;
    int width = lane_count == 0 ? 0 : room / lane_count - GAP_WIDTH;
    if (width < CELL_WIDTH_MIN && device_width == 0 && lane_count > 1) {
        /* the last column has no other to reach into */
        width = (room - CELL_WIDTH_MIN - GAP_WIDTH) / (lane_count - 1) - GAP_WIDTH;
    }
    if (width < least) {
        width = least;
    }
    if (width > CELL_BYTES - 1) {
        width = CELL_BYTES - 1;
    }
    for (unsigned i = 0; i < COLUMN_DEVICE; i++) {
        printing->widths[i] = width;
    }
    printing->widths[COLUMN_DEVICE] = DEVICE_WIDTH;
}

static void put_head(struct printing *printing)
{
    char name[COLUMN_NAME_BYTES];
    writing_append_format(printing->text, "%*s", TURN_WIDTH, "turn");
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        if (!printing->is_used[i]) {
            continue;
        }
        (void)name_column(printing, i, name);
        writing_append_format(printing->text, "%*s%-*s", GAP_WIDTH, "",
                              i == COLUMN_DEVICE ? 0 : printing->widths[i], name);
    }
    while (printing->text->bytes[printing->text->length - 1] == ' ') {
        printing->text->bytes[--printing->text->length] = '\0';
    }
    writing_append(printing->text, "\n");
}

/* Returns what the list breaks; NULL: nothing. */
static const char *name_broken(const struct verdict *first)
{
    if (first->kind == VERDICT_NONE) {
        return NULL;
    }
    return first->kind == VERDICT_BROKEN ? rule_info(first->rule)->name : verdict_name(first->kind);
}

void lane_columns_print(const struct lane_columns *columns, const struct verdict *first,
                        struct writing *text)
{
    const char *broken = name_broken(first);
    struct printing printing = {
        .columns = columns, .text = text, .broken_op = first->op, .broken = broken};
    printing.has_returned = calloc(columns->ops.count + 1, sizeof *printing.has_returned);
    CHECK(printing.has_returned != NULL);
    choose_widths(&printing);
    put_head(&printing);
    put_rows(&printing);
    if (printing.row_count > ROW_COUNT_MAX || columns->untold_count > 0) {
        writing_append_format(text, "(%" PRIu64 " more rows)\n",
                              (printing.row_count > ROW_COUNT_MAX
                                   ? printing.row_count - ROW_COUNT_MAX + columns->untold_count
                                   : columns->untold_count));
    }
    if (broken != NULL && !printing.is_told && first->op < columns->ops.count) {
        writing_append_format(text, "op %lu breaks %s\n", (unsigned long)first->op, broken);
    }
    free(printing.has_returned);
}
