import sys
STATS = "addr allocation_bytes requested_bytes bytes_allocated allocator_name tf_op bytes_available".split()
def number(n):
    n %= 1 << 64
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + number(n >> 7)
def field(i, value):
    return number(i << 3) + number(value) if isinstance(value, int) else number(i << 3 | 2) + number(len(value)) + value
def name(i, number, text):
    return field(i, field(1, number) + field(2, field(2, text.encode())))
def event(words, time):
    given = {"allocator_name": "A0", **dict(word.split("=") for word in words[1:])}
    stats = [(i + 1, given[stat]) for i, stat in enumerate(STATS) if stat in given]
    stats = [field(1, i) + (field(5, value.encode()) if value[0] == "A" else field(4, int(value))) for i, value in stats]
    return field(1, 1 if words[0] == "alloc" else 2) + field(2, time) + b"".join(field(4, stat) for stat in stats)
for line in sys.stdin:
    events = b"".join(field(4, event(words.split(), time)) for time, words in enumerate(line.split(";")))
    names = name(4, 1, "MemoryAllocation") + name(4, 2, "MemoryDeallocation") + b"".join(name(5, i + 1, stat) for i, stat in enumerate(STATS))
    print("".join(f"\\x{byte:02x}" for byte in field(1, field(2, b"/host:CPU") + field(3, events) + names)))
