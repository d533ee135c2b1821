/* What facts are made of, for their renderers. */
#ifndef PRESENT_PRIVATE_FACT_H
#define PRESENT_PRIVATE_FACT_H

#include "present/facts.h"

enum fact_kind {
    FACT_OPEN,
    FACT_CLOSE,
    FACT_NEST,
    FACT_UNNEST,
    FACT_MEMBER,
    FACT_TABLE,
    FACT_TABLE_END,
    FACT_HEADING,
    FACT_SAY,
    FACT_LINE
};

struct fact {
    enum fact_kind kind;
    enum fact_unit unit;                /* of a member */
    bool is_cell;                       /* a member that JSON does not have */
    char bracket;                       /* of a nest */
    const char *name;                   /* of a member or nest; the lead of a paragraph */
    uint64_t number, whole;             /* of a member; number: the indent of a paragraph */
    const char *type;                   /* of a record */
    size_t text;                        /* of a text or words: where it begins in facts->texts */
    const struct facts_column *columns; /* of a table: number of them */
};

static inline const char *fact_string(const struct facts *facts, const struct fact *fact)
{
    return facts->texts.bytes + fact->text;
}

/* The member of that name in the record that begins at `open`; NULL: it has none. */
const struct fact *fact_find(const struct facts *facts, size_t open, const char *name);
/* Appends the value as people read it on a terminal. */
void fact_append_value(const struct facts *facts, const struct fact *fact, struct writing *text);

#endif
