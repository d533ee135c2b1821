/* The largest items alone: they may not fit, and where they do, the rest may fit between them. */
#include "tests/harness/packing/packing_list.h"
#include "tests/helpers/suite.h"

#include <check.h>

/* In granules; 0.03 % of the room is more than the items. */
struct state {
    uint64_t bins[17], items[101];
};
static const struct state without_packing = {
    {870364, 129433, 2180462, 93315, 944266, 402111, 1462775, 550680, 986034, 1781078, 8593340,
     3319111, 57995, 511357, 1198382, 932260, 327875},
    {24,      25,      27,      30,      37,      39,      39,      57,      60,      61,
     61,      67,      69,      76,      76,      79,      85,      85,      90,      241,
     250,     288,     327,     380,     440,     530,     577,     644,     689,     969,
     1135,    1368,    1484,    1761,    1939,    2079,    2277,    2705,    3190,    3238,
     4266,    4318,    4897,    5586,    5859,    6723,    8114,    8200,    10671,   11278,
     11624,   11660,   12262,   13251,   13419,   13650,   15123,   16791,   18082,   22301,
     25565,   26390,   30627,   36763,   39413,   39429,   39886,   42950,   43476,   46170,
     46203,   49334,   72624,   90559,   149163,  151068,  152727,  180528,  188218,  286300,
     334086,  376695,  564198,  599809,  600417,  646681,  712148,  748302,  758745,  771891,
     1040637, 1130172, 1474961, 1520344, 1581557, 1581557, 1581557, 1581557, 1581557, 1581557,
     1581557}};
static const struct state with_packing = {
    {62366, 559741, 1255223, 15104, 1514439, 2627465, 5737296, 1206884, 1274316, 399178, 4434325,
     662424, 1918844, 1003415, 129599, 1426071, 3365098},
    {40,      44,      45,      49,      53,      63,      79,      79,      93,      97,
     100,     143,     162,     183,     196,     238,     249,     303,     316,     356,
     568,     577,     629,     683,     731,     805,     1008,    1079,    1406,    1432,
     1507,    1554,    1664,    1740,    1750,    1888,    2141,    2365,    2463,    2904,
     3102,    3505,    3569,    4003,    4767,    5337,    5588,    5933,    6233,    7433,
     9108,    9193,    16216,   17315,   20789,   20842,   24678,   25317,   25446,   30828,
     33867,   40569,   49366,   50188,   51983,   54248,   56001,   61764,   86211,   91588,
     95075,   101887,  137970,  152911,  163906,  170122,  182421,  188121,  191876,  270926,
     294800,  320365,  344821,  347151,  486076,  493777,  507398,  1211221, 1273050, 1279554,
     1313017, 1375317, 1389337, 1549049, 1770830, 1852709, 1852709, 1852709, 1852709, 1852709,
     1852709}};

/* The answer with a twentieth of what the oracle gives a question, after its proof was checked. */
static struct packing_answer solve_state(const struct state *state)
{
    struct packing_list list = {.item_count = 0};
    for (size_t i = 0; i < 17; i++) {
        list_add_bin(&list, state->bins[i]);
    }
    for (size_t i = 0; i < 101; i++) {
        list_add_items(&list, state->items[i], 1);
    }
    const struct packing_answer answer = list_answer(&list, 100000);
    return answer;
}

EVERY_TEST(.timeout_s = 60, .setup = packing_begin, .teardown = packing_end);

TEST(the_largest_refute_what_a_search_of_all_leaves_open)
{
    const struct packing_answer answer = solve_state(&without_packing);
    ck_assert_int_eq(answer.result, PACKING_NONE);
    ck_assert_int_eq(answer.method, PACKING_BY_SEARCH);
    /* None of the many small ones played a part. */
    ck_assert_uint_gt(answer.number, UINT64_C(300000) * GRANULE);
}

TEST(a_packing_of_the_largest_is_completed)
{
    const struct packing_answer answer = solve_state(&with_packing);
    ck_assert_int_eq(answer.result, PACKING_FITS);
    ck_assert_int_eq(answer.method, PACKING_BY_SEARCH);
}
