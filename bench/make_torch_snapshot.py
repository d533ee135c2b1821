#!/usr/bin/env python3
"""Writes a memory snapshot of PyTorch, of a training run that never was, as a pickle.

    make_torch_snapshot.py FILE EVENTS [SEED]

The trace has about EVENTS events on one device: weights that stay, and steps of activations that
a forward pass makes and a backward pass frees, with gradients.  Keys, actions, frames and lists of
frames are shared as torch's own files share them, at 57 bytes an event.  The same arguments give
the same bytes.
"""
import pickle
import random
import sys

BASE = 0x7F0000000000
LAYERS = 48
FRAMES_A_STACK = 9
SLOTS_A_SEGMENT = 16


def slot_bytes(requested):
    """The size class: an eighth of the power of two below it, and at least 512."""
    step = max(512, 1 << max(0, requested.bit_length() - 4))
    return (requested + step - 1) // step * step


class Device:
    """Each class has slots of its own in segments of its own, so that the blocks tile them."""

    def __init__(self):
        self.free = {}  # addresses by size
        self.live = {}  # (requested, stack) by address
        self.segments = []  # (address, slot size, slots)
        self.end = BASE
        self.trace = []
        self.time = 1_700_000_000_000_000

    def record(self, action, address, size, stack):
        self.time += 7
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0,
                           "time_us": self.time, "frames": stack})

    def allocate(self, requested, stack):
        size = slot_bytes(requested)
        free = self.free.setdefault(size, [])
        if not free:
            slots = SLOTS_A_SEGMENT
            self.segments.append((self.end, size, slots))
            free.extend(self.end + i * size for i in reversed(range(slots)))
            self.record("segment_alloc", self.end, size * slots, stack)
            self.end += size * slots
        address = free.pop()
        self.live[address] = (requested, stack)
        self.record("alloc", address, requested, stack)
        return address

    def release(self, address, stack):
        requested, _ = self.live.pop(address)
        self.free[slot_bytes(requested)].append(address)
        self.record("free_requested", address, requested, stack)
        self.record("free_completed", address, requested, stack)

    def show_segment(self, address, size, slots):
        blocks = []
        for at in range(address, address + size * slots, size):
            requested, stack = self.live.get(at, (size, []))
            blocks.append({"address": at, "size": size, "requested_size": requested,
                           "state": "active_allocated" if at in self.live else "inactive",
                           "frames": stack})
        live = [block for block in blocks if block["state"] != "inactive"]
        return {"device": 0, "address": address, "total_size": size * slots,
                "allocated_size": size * len(live), "active_size": size * len(live),
                "requested_size": sum(block["requested_size"] for block in live), "stream": 0,
                "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
                "blocks": blocks}


def make_stacks():
    """One stack for each layer and use; frames are shared, as are their texts."""
    uses = ("attention", "linear", "norm", "gelu")
    outer = [{"name": f"outer_{i}", "filename": "/usr/lib/python3/site-packages/torch/nn/outer.py",
              "line": 100 + i} for i in range(FRAMES_A_STACK - 1)]
    return [[{"name": use, "filename": "/home/me/train/model.py", "line": 10 * layer + i}] + outer
            for layer in range(LAYERS) for i, use in enumerate(uses)]


def replace_sample(device, samples, stack, draws):
    """What the loader keeps is replaced in no order, by samples of other sizes."""
    i = draws.randrange(len(samples))
    device.release(samples[i], stack)
    samples[i] = device.allocate(draws.randrange(1 << 10, 1 << 21), stack)


def train(device, count, draws):
    stacks = make_stacks()
    widths = [draws.randrange(1 << 10, 1 << draws.randrange(12, 22)) for _ in stacks]
    for i, stack in enumerate(stacks * 12):  # weights and two moments, in four pieces
        device.allocate(widths[i % len(widths)], stack)
    samples = [device.allocate(draws.randrange(1 << 10, 1 << 21), stack) for stack in stacks * 24]
    while len(device.trace) < count:
        kept = []
        length = draws.choice((90, 95, 100, 100))  # of the batch, padded to its longest sequence
        sizes = [width * length // 100 for width in widths]
        for stack, size in zip(stacks, sizes):
            for _ in range(4):
                replace_sample(device, samples, stack, draws)
            kept.append((device.allocate(size, stack), stack))
            kept.append((device.allocate(4 * size, stack), stack))
            scratch = device.allocate(2 * size, stack)
            device.release(scratch, stack)
        for address, stack in reversed(kept):
            gradient = device.allocate(draws.choice(widths), stack)
            device.release(address, stack)
            device.release(gradient, stack)


def main():
    device = Device()
    train(device, int(sys.argv[2]), random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1))
    snapshot = {"segments": [device.show_segment(*segment) for segment in device.segments],
                "device_traces": [device.trace],
                "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1},
                "external_annotations": []}
    with open(sys.argv[1], "wb") as file:
        pickle.dump(snapshot, file, protocol=4)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main()
