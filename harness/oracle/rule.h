/* The promises, one row each in rule_list.h.  The oracle names the first one broken; each has a
 * planted target that breaks exactly it. */
#ifndef HARNESS_ORACLE_RULE_H
#define HARNESS_ORACLE_RULE_H

enum rule {
    RULE_NONE = 0,
#define RULE(enumerator, name, gravity, promise, judge, plant) RULE_##enumerator,
#include "harness/oracle/rule_list.h"
#undef RULE
    RULE_COUNT
};

/* The gravity of a broken rule. */
enum rule_gravity {
    GRAVITY_NUMBERS = 0, /* what the target says of itself is wrong, or what it costs too high */
    GRAVITY_ANSWER,      /* the answer is wrong, and everybody knows it */
    GRAVITY_HARM         /* memory, contents or the process itself: nobody can go on from there */
};

struct rule_info {
    const char *name;    /* as in JSON and in a plant's `breaks` */
    const char *summary; /* the promise, in one sentence */
    enum rule_gravity gravity;
    const char *judge; /* the function that judges it, or the road on which it is judged */
    const char *plant; /* a target that breaks it; NULL for RULE_NONE */
};
const struct rule_info *rule_info(enum rule rule);
enum rule_gravity rule_gravity(enum rule rule);

/* RULE_NONE when there is none of that name. */
enum rule rule_find(const char *name);

#endif
