/* TLSF, whose pool is memory: it writes a word before each block, so the pool is mapped and touched
 * there alone.  Blocks are aligned to 8 bytes, and a pool holds less than 4 GiB. */
#include "bench/peers/play.hpp"

#include <tlsf.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <sys/mman.h>

namespace
{
class Pool
{
  public:
    using Block = void *;

    Pool(std::uint64_t capacity_bytes, std::uint32_t)
        : bytes(capacity_bytes + tlsf_pool_overhead()), records(std::malloc(tlsf_size())),
          pool(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))
    {
        tlsf = records != nullptr && pool != MAP_FAILED ? tlsf_create(records) : nullptr;
        if (tlsf == nullptr || tlsf_add_pool(tlsf, pool, bytes) == nullptr) {
            give_back();
            throw std::runtime_error("tlsf refuses a pool of that size");
        }
    }

    ~Pool()
    {
        give_back();
    }

    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    bool allocate(std::uint64_t size_bytes, Block *block)
    {
        *block = tlsf_malloc(tlsf, size_bytes);
        return *block != nullptr;
    }

    void free(Block block)
    {
        tlsf_free(tlsf, block);
    }

  private:
    void give_back()
    {
        if (pool != MAP_FAILED) {
            (void)munmap(pool, bytes);
        }
        std::free(records);
    }

    std::size_t bytes;
    void *records, *pool;
    tlsf_t tlsf = nullptr;
};
} // namespace

PEER_SUBJECT(Pool, tlsf);
