"""Draws op lists of several hosts, most of them with a time of their own: groups, collectives that some hosts never join,
bounds, clocks that drift, streams, lost events, and ops that name what another host has."""

HOSTS_MAX, OPS = 4, 120
DELAYS = ('0s', '5ns', '300ns', '2us', '1ms', '6s', 'never')
FAULTS = ('event_lost', 'event_late', 'event_others', 'poll_jump', 'wait_timeout', 'clock_jump', 'unload_busy')


class Draw:
    """One list as it is drawn: `made` has the numbers of the ops that made a thing, by kind and host."""

    def __init__(self, chance, target):
        self.chance, self.target = chance, target
        self.hosts = chance.randint(2, HOSTS_MAX)
        self.ops = []
        self.made = {(kind, host): [] for kind in ('block', 'program', 'event') for host in range(self.hosts)}

    def head(self):
        chance = self.chance
        lines = ['hbmstress-ops 1', 'capacity 64K', 'granule 512', f'hosts {self.hosts}', f'target {self.target}']
        if chance.random() < 0.8:
            lines += ['clocks own']
            lines += [f'clock {host} ahead={chance.choice(DELAYS[:-1])} drift={chance.randint(-100000, 100000)}'
                      for host in range(self.hosts) if chance.random() < 0.5]
        if chance.random() < 0.6:
            lines += [f'collective_bound {chance.choice(DELAYS[1:])}']
        for number in range(chance.randrange(4)):
            members = sorted(chance.sample(range(self.hosts), chance.randint(1, self.hosts)))
            lines += [f'group {number} {",".join(map(str, members))} "row {number}"']
        return lines

    def name(self, kind, host):
        """One of the host's, rarely another host's or none."""
        host = self.chance.randrange(self.hosts) if self.chance.random() < 0.05 else host
        return self.chance.choice(self.made[kind, host] or ['none'])

    def place(self):
        return self.chance.choice(('', ' stream=1', ' stream=2'))

    def draw_op(self, host):
        chance, number = self.chance, len(self.ops)
        kind = chance.choices(('alloc', 'use', 'free', 'free_after', 'load', 'execute', 'unload', 'advance', 'complete', 'hold',
                               'release', 'fault', 'large'), (20, 12, 8, 12, 4, 10, 2, 4, 3, 2, 2, 2, 14))[0]
        if kind in ('alloc', 'large'):
            self.made['block', host].append(number)
            size = chance.choice((512, 1024, 3000, 8192)) if kind == 'alloc' else chance.choice((16384, 32768, 65536))
            return f'alloc size={size}{self.place()}'
        if kind in ('use', 'free_after'):
            if chance.random() < 0.3:
                return f'{kind} block={self.name("block", host)} event={self.name("event", host)}'
            self.made['event', host].append(number)
            return f'{kind} block={self.name("block", host)} delay={chance.choice(DELAYS)}{self.place()}'
        if kind == 'load':
            self.made['program', host].append(number)
            return f'load size={chance.choice((512, 2048))} stack={chance.choice((0, 1024))}'
        if kind == 'execute':
            self.made['event', host].append(number)
            group = f' collective={chance.randrange(4)}' if chance.random() < 0.7 else ''
            return f'execute program={self.name("program", host)} delay={chance.choice(DELAYS)}{group}'
        if kind == 'fault':
            return f'fault call={chance.choice(FAULTS)}'
        return {'advance': lambda: f'advance delay={chance.choice(DELAYS[:-2])}',
                'complete': lambda: f'complete event={self.name("event", host)}',
                'unload': lambda: f'unload program={self.name("program", host)}'}.get(
                    kind, lambda: f'{kind} block={self.name("block", host)}')()

    def text(self):
        lines = self.head()
        for number in range(OPS):
            host = self.chance.randrange(self.hosts)
            op = self.draw_op(host)
            self.ops.append(op)
            lines.append(f'{number}: {op}' + f' host={host}' * (host > 0))
        return '\n'.join(lines) + '\n'


def draw_list(chance, target):
    return Draw(chance, target).text()
