/* Names for addresses of code: the function, from the symbol table of its object, or else the
 * object and the offset in it; and the line, where its object has that.  Slow; for what a dead
 * process left behind. */
#ifndef CAMPAIGN_PROCESS_SYMBOLS_H
#define CAMPAIGN_PROCESS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

enum { SYMBOL_BYTES = 96 };

struct symbol {
    char object[SYMBOL_BYTES]; /* its file without the folder */
    char name[SYMBOL_BYTES];   /* "hbm_alloc", or "mine.so+0x12a0" where no table has it */
    char file[SYMBOL_BYTES];   /* "heap.c": of the source, without the folder; "" = not known */
    uint32_t line;             /* 0 = not known */
    bool is_of_program;        /* of the program itself, not of a shared object */
};

/* False: no object has that address.  Objects stay loaded, so what was found once is known.  Not
 * for two threads at once. */
bool symbol_find(uintptr_t address, struct symbol *symbol);
/* Closes the files of objects that were looked at: processes that are forked would have them, too.
 */
void symbols_close(void);

#endif
