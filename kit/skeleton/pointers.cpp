/* my_target: first fit in one arena.  Put your own allocator in place of allocate and free. */
#include <hbmstress/target.hpp>

#include <new>

namespace {

class Heap {
    /* Right before its block, and counted in the size. */
    struct Chunk {
        std::uint64_t size;
        std::uint64_t is_free;

        Chunk *next() { return reinterpret_cast<Chunk *>(reinterpret_cast<char *>(this) + size); }
    };

public:
    static constexpr std::uint64_t granule_bytes = 16, header_bytes = sizeof(Chunk);
    static constexpr bool is_granule_fixed = true;
    static constexpr target_rounding rounding{ROUNDING_GRANULE, 0, 0, header_bytes};
    static constexpr target_limits limits{0, 0, 0, 0, granule_bytes}; /* the largest alignment */

    explicit Heap(const kit_setup &setup) : first_(::new (setup.arena) Chunk{setup.arena_bytes, 1})
    {
        end_ = first_->next();
    }

    /* size bytes, a multiple of the granule, somewhere in the arena. */
    void *allocate(std::uint64_t size)
    {
        for (Chunk *chunk = first_; chunk != end_; chunk = chunk->next()) {
            if (chunk->is_free == 0) {
                continue;
            }
            while (chunk->next() != end_ && chunk->next()->is_free != 0) {
                chunk->size += chunk->next()->size;
            }
            if (size <= chunk->size - sizeof(Chunk)) {
                const std::uint64_t rest = chunk->size - sizeof(Chunk) - size;
                *chunk = Chunk{sizeof(Chunk) + size, 0};
                if (rest > 0) {
                    ::new (chunk->next()) Chunk{rest, 1};
                }
                return chunk + 1;
            }
        }
        return nullptr;
    }

    void free(void *pointer) { (static_cast<Chunk *>(pointer) - 1)->is_free = 1; }

private:
    Chunk *first_, *end_;
};

} // namespace

HBMSTRESS_TARGET(Heap, "my_target", "first fit in one arena");
