/* Every planted defect of the target segments: one row each, in the order in which they are listed.
 *
 *     SEGMENTS(name, defect, rule, summary)
 *
 * The target segments_NAME breaks the rule, and that rule must catch it. */
/* clang-format off */

SEGMENTS(across, SEGMENTS_ACROSS, "region",
     "treats a region and the one behind it as one hole")
SEGMENTS(given_live, SEGMENTS_GIVEN_LIVE, "region",
     "gives back a region whose lowest block is gone, whatever lies above it")
SEGMENTS(leaked, SEGMENTS_LEAKED, "region",
     "forgets at close which regions it took after one was refused")
SEGMENTS(untrimmed, SEGMENTS_UNTRIMMED, "premature",
     "gives up without giving back its empty regions")
SEGMENTS(ungrown, SEGMENTS_UNGROWN, "premature",
     "takes no region any more once it has half of the device")
SEGMENTS(spins, SEGMENTS_SPINS, "hang",
     "asks for a region that is refused 100,000 times more")
