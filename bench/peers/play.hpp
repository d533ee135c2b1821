/* Plays a list on a peer: a class Heap with
 *     Heap(std::uint64_t capacity_bytes, std::uint32_t live_count_max)   throws where it cannot be
 *     using Block = ...                                                  what a free needs
 *     bool allocate(std::uint64_t size_bytes, Block *block)
 *     void free(Block block)
 * PEER_SUBJECT(Heap, name) makes it the subject of that name. */
#ifndef BENCH_PEERS_PLAY_HPP
#define BENCH_PEERS_PLAY_HPP

#include "bench/peers/subject.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

namespace peers
{
template <class Heap> class Player
{
  public:
    explicit Player(const peer_list &given)
        : list(given), heap(std::make_unique<Heap>(given.capacity_bytes, given.live_count_max)),
          blocks(given.count)
    {
    }

    void play(played *result)
    {
        fill_ops(list.fill_count);
        const double start_ns = read_cpu_ns();
        steady_ops(list.fill_count, list.count);
        *result = {read_cpu_ns() - start_ns, refused_count};
    }

  private:
    struct Place {
        typename Heap::Block block;
        bool is_there;
    };

    inline void play_ops(std::size_t from, std::size_t to)
    {
        for (std::size_t i = from; i < to; i++) {
            const peer_op op = list.ops[i];
            if (op.size_bytes != 0) {
                blocks[i].is_there = heap->allocate(op.size_bytes, &blocks[i].block);
                refused_count += !blocks[i].is_there;
            } else if (blocks[op.ref].is_there) {
                heap->free(blocks[op.ref].block);
            }
        }
    }

    __attribute__((noinline)) void fill_ops(std::size_t to)
    {
        play_ops(0, to);
    }

    __attribute__((noinline)) void steady_ops(std::size_t from, std::size_t to)
    {
        play_ops(from, to);
    }

    const peer_list &list;
    std::unique_ptr<Heap> heap;
    std::vector<Place> blocks;
    std::uint64_t refused_count = 0;
};

template <class Heap> bool play(const peer_subject *, const peer_list *list, played *result)
{
    try {
        Player<Heap>(*list).play(result);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}
} // namespace peers

#define PEER_SUBJECT(Heap, name)                  \
    extern "C" const peer_subject subject_##name; \
    const peer_subject subject_##name = {#name, peers::play<Heap>, nullptr}

#endif
