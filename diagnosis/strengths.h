/* Every strength with which a cause is told, one line each: STRENGTH(NAME, cause, what
 * distinguishes it, right, wrong, rank).  Of generated jobs of which it was told so, it was right
 * in `right` and wrong in `wrong`; the job of each plant, and four healthy ones, for each of 200
 * seeds that tuned nothing.  The table is printed by HBMSTRESS_STRENGTHS=200 CK_RUN_SUITE=training
 * CK_FORK=no tests_diagnosis and copied here.  0, 0: not a measured frequency: no plant is of
 * it, or the jobs count it as wrong because it is told beside the cause that was planted, so that
 * the share says nothing of it alone. rank: set by hand, for the order and the level of those;
 * explain prints no percentage of it. */
/* clang-format off */
STRENGTH(REFUSED, "refused_though_it_fits", "the out-of-memory was premature", 200, 0, 99)
STRENGTH(LEAK_BOTH, "leak", "steps keep blocks, and they pile up over the list", 55, 2, 96)
STRENGTH(LEAK_STEPS, "leak", "few steps, which keep blocks", 33, 33, 78)
STRENGTH(LEAK_PILES, "leak", "blocks pile up over the list", 0, 0, 40)
STRENGTH(LEAK_BESIDE, "leak", "less leaked than is missing", 0, 0, 40)
STRENGTH(COPIES, "copies", "half of what is older is copied", 71, 11, 84)
STRENGTH(COPIES_BEGUN, "copies", "less than half of what is older is copied", 0, 0, 23)
STRENGTH(HEAD_OF_LINE, "head_of_line", "the frees behind it have the missing bytes", 200, 0, 91)
STRENGTH(HEAD_OF_LINE_PIECES, "head_of_line", "nothing is missing in sum", 0, 0, 61)
STRENGTH(QUEUED_FREES, "queued_frees", "they have the missing bytes", 200, 0, 90)
STRENGTH(QUEUED_FREES_PIECES, "queued_frees", "nothing is missing in sum", 0, 0, 60)
STRENGTH(QUEUED_FREES_PART, "queued_frees", "they have half of the missing bytes", 0, 0, 30)
STRENGTH(REFERENCES, "references", "freed blocks that they keep have the missing bytes", 200, 0, 90)
STRENGTH(REFERENCES_LIVE, "references", "only with blocks that live and are held for long", 0, 0, 55)
STRENGTH(REFERENCES_PIECES, "references", "nothing is missing in sum", 0, 0, 45)
STRENGTH(PROGRAM_RELOAD, "program_reload", "the program was evicted", 200, 0, 92)
STRENGTH(FRAGMENTED, "fragmented", "every hole is too small", 200, 0, 90)
STRENGTH(FRAGMENTED_ASSUMED, "fragmented", "the file has sums only", 0, 0, 60)
STRENGTH(OUT_OF_PLACE, "out_of_place", "a hole is large enough, but elsewhere", 200, 0, 90)
STRENGTH(ROUNDED_UP, "rounded_up", "a hole takes the request, but not its size class", 200, 0, 90)
STRENGTH(HOST_SKEW, "host_skew", "this host has the missing bytes more", 199, 0, 88)
STRENGTH(SPIKE, "spike", "one op took it", 0, 0, 75)
STRENGTH(SPIKE_REQUEST, "spike", "the request itself", 0, 0, 50)
STRENGTH(OUTSIDE_PROCESSES, "outside_the_allocator", "other processes alone have the missing bytes", 0, 0, 85)
STRENGTH(OUTSIDE, "outside_the_allocator", "together they have the missing bytes", 0, 0, 70)
STRENGTH(OUTSIDE_SMALL, "outside_the_allocator", "less than a twentieth of the device", 0, 0, 40)
STRENGTH(PADDING, "padding", "it has the missing bytes", 200, 0, 80)
STRENGTH(PADDING_PART, "padding", "it has a quarter of what is in use", 0, 0, 40)
STRENGTH(GROWING_STEPS, "growing_set", "each step needs more", 168, 16, 61)
STRENGTH(GROWING_FLOOR, "growing_set", "larger blocks replace others", 0, 0, 30)
STRENGTH(GROWING_BESIDE, "growing_set", "it rose by less than is missing", 0, 0, 30)
STRENGTH(STILL_GROWING, "still_growing", "what the tag falls back to rises to the end", 171, 20, 58)
STRENGTH(TOO_LARGE, "exhausted", "the request is larger than the device", 0, 0, 99)
STRENGTH(FIRST_STEPS, "exhausted", "no step had ended and was repeated", 0, 0, 55)
STRENGTH(EXHAUSTED, "exhausted", "steps had ended, and nothing else is seen", 0, 0, 25)
