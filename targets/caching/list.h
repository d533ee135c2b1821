/* Every planted defect of the target caching: one row each, in the order in which they are listed.
 *
 *     CACHING(name, bend, free, rule, summary)
 *
 * The target caching_NAME breaks the rule, and that rule must catch it. */
/* clang-format off */

CACHING(keeps, CACHE_BEND_KEEPS, kit_free, "premature",
     "gives up without releasing its cached segments")
CACHING(unmerged, CACHE_BEND_UNMERGED, kit_free, "premature",
     "merges a free block with the one before it, but not with the one behind it")
CACHING(overlaps, CACHE_BEND_OVERLAPS, kit_free, "overlap",
     "splits a block 512 bytes too low")
CACHING(loses, CACHE_BEND_LOSES, kit_free, "premature",
     "forgets each sixteenth free")
CACHING(early, CACHE_STRAIGHT, caching_free_early, "reused_early",
     "frees at once what a stream still uses")
