/* FreeListAllocator of memory-allocators (mtrebi): one list of free nodes in the order of their
 * addresses, and a header before each block.  It ends the process when it is full, so it is asked
 * before whether the request fits: with its own search, which is private. */
#include "kit/target.hpp"

#include <cstddef>

#define private public
#include <FreeListAllocator.h>
#undef private

static constexpr target_api api = [] {
    target_api texts{};
    texts.language = "c++";
    texts.build = "c++ -g -w @source $FREE_LIST -o @program";
    texts
        .head = "#include <cstddef>\n#include <cstdint>\n#include <cstdio>\n"
                "/* Find, which is private, tells whether a request fits: Allocate asserts it. */\n"
                "#define private public\n#include <FreeListAllocator.h>\n#undef private\n\n"
                "static void *allocate(FreeListAllocator &heap, std::size_t size)\n"
                "{\n"
                "    std::size_t padding = 0;\n"
                "    FreeListAllocator::Node *before = nullptr, *found = nullptr;\n"
                "    heap.Find(size, 16, padding, before, found);\n"
                "    return found == nullptr ? nullptr : heap.Allocate(size, 16);\n"
                "}\n";
    texts
        .create = "FreeListAllocator heap(@capacity, FreeListAllocator::FIND_FIRST);\nheap.Init();";
    texts.alloc = "void *@block = allocate(heap, @size);";
    texts.free = "heap.Free(@block);";
    return texts;
}();

class FreeList
{
  public:
    static constexpr std::uint64_t granule_bytes = 16, header_bytes = 16;
    static constexpr bool is_granule_fixed = true;
    static constexpr target_rounding rounding = {ROUNDING_GRANULE, 0, 0, header_bytes};
    static constexpr target_limits limits = {0, 0, 0, 0, granule_bytes};
    static constexpr const char *option_help = "policy=first|best\n";
    static constexpr const target_api *api = &::api;

    explicit FreeList(const kit_setup &setup)
        : allocator(setup.arena_bytes, kit_option_is(&setup, "policy", "best")
                                           ? FreeListAllocator::FIND_BEST
                                           : FreeListAllocator::FIND_FIRST)
    {
        allocator.m_start_ptr = setup.arena;
        allocator.Reset();
    }

    ~FreeList()
    {
        allocator.m_start_ptr = nullptr;
    }

    FreeList(const FreeList &) = delete;
    FreeList &operator=(const FreeList &) = delete;

    void *allocate(std::uint64_t size, std::uint64_t align)
    {
        std::size_t padding = 0;
        FreeListAllocator::Node *before = nullptr, *found = nullptr;
        allocator.Find(size, align, padding, before, found);
        return found == nullptr ? nullptr : allocator.Allocate(size, align);
    }

    void free(void *place)
    {
        allocator.Free(place);
    }

  private:
    FreeListAllocator allocator;
};

HBMSTRESS_TARGET(FreeList, "free_list", "FreeListAllocator of memory-allocators");
