/* my_target: first fit.  Put your own allocator in place of allocate and free. */
#include <hbmstress/target.hpp>

#include <map>

namespace {

class Heap {
public:
    explicit Heap(const kit_setup &setup) { ends_[setup.capacity_bytes] = setup.capacity_bytes; }

    /* size bytes at a multiple of align, a power of two, in [0, setup.capacity_bytes). */
    std::uint64_t allocate(std::uint64_t size, std::uint64_t align)
    {
        std::uint64_t start = 0;
        for (const auto &[offset, end] : ends_) {
            const std::uint64_t place = (start + align - 1) & ~(align - 1);
            if (place <= offset && size <= offset - place) {
                ends_[place] = place + size;
                return place;
            }
            start = end;
        }
        return hbmstress::nothing;
    }

    void free(std::uint64_t offset) { ends_.erase(offset); }

private:
    std::map<std::uint64_t, std::uint64_t> ends_; /* of blocks, by offset; the last is a fence */
};

} // namespace

HBMSTRESS_TARGET(Heap, "my_target", "first fit");
