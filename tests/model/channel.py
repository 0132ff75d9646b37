#!/usr/bin/env python3
"""Is a place in a channel ever written before its owner has read what is there? Every order that can be is tried.

Two or three ranks make three launches on one channel, of any two flow kernels in all their forms (kernels.py). For each
sequence of launches the program looks for
  overwritten  a store that arrives in a place whose content its owner has not read to the end,
  stale        a read that can begin before what it is meant to read has come,
  stuck        a wait that never ends.

What happens, in the model:
  - A store to a peer is under way for any time. Stores by which a rank tells how far it has come (token, mark, used)
    arrive in order word by word; a mark arrives after all that its block has stored to that peer before (a release);
    nothing else is ordered. Stores of a launch have arrived before the same rank's next launch begins; in `linger`,
    which makes many epochs in one launch, not.
  - A launch begins on a rank when all blocks of the launch before have ended there. Blocks run side by side.
  - A read begins with the wait before it and ends any time later; results may be pushed while it lasts.
  - Lines and packets come, and are handed on, one by one.

Every block's steps are fixed, and each wait is for one store: the first that brings the word as far, or the line of
that flag. So a sequence is a set of events (a store arrives, a read ends), each with the events that it needs, and an
interleaving is any order in which each comes after what it needs. A state is the set of the events that have happened.
Three searches, which must agree wherever more than one is made:
  whole  depth first through all states; every event is a step.
  short  the same through fewer: what arrives is taken at once, and so are ends of reads where nothing comes later.
         Nothing is lost. An event takes away nothing that others need, so it can be moved to the front of what
         follows; a word hits nothing; and data that hit something when they are late are hit by that same thing when
         they are early, as nobody can have read them. What late data alone show, a read that does not wait for them,
         is looked for apart: a read must need, directly or by way of others, that its data have come.
  order  no search: two stores to one place are safe if the one needs that the other has been read.
With the argument `all` (make check-long) all sequences are tried. Without it a fifth of those of each pair of kernels is
tried, and the longest of the searches that look at a sequence is left out of three in four."""
import collections
import itertools
import sys
import time

from kernels import CELLS, REGION, Block, New, Old, blocks_of, forms

NEVER = 1 << 9999  # an event that no sequence has
OTHERS = NEVER - 1  # a mask that keeps all others, and is not longer than they are in an `&`


def bits(mask):
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


class Event:
    def __init__(self, kind, rank, epoch, text):
        self.kind, self.rank, self.epoch, self.text = kind, rank, epoch, text
        self.needs = 0  # events, as a mask
        self.reads = 0  # end of a read: of which data
        self.reader = None  # data: the event that ends their reading
        self.hits = 0  # data: others in the same cells


class Sequence:
    """The events of a sequence of launches, and what each needs."""

    def __init__(self, layout, ranks, sequence, linger=False):
        self.ranks, self.forms, self.events = ranks, sequence, []
        self.words = collections.defaultdict(list)  # (owner, word): [(value, event)]
        self.data = {}  # (owner, name): (event, place, flag)
        owes = [0]  # before each launch: the last one whose end does not tell that all have begun it
        for epoch, (_, shape, _, _) in enumerate(sequence, 1):
            owes.append(owes[-1] if shape in ("all", "first", "nothing") else epoch)
        runs = [[self.launch(layout, form, epoch, rank, owes[epoch - 1]) for rank in range(ranks)]
                for epoch, form in enumerate(sequence, 1)]
        self.meet()
        for rank in range(ranks):
            before = 0  # what the next launch needs
            for begin, blocks, end in (run[rank] for run in runs):
                self.events[begin].needs, self.events[end].needs = before, 1 << begin
                before = 1 << end
                for steps in blocks:
                    need, stores = self.connect(rank, 1 << begin, steps)
                    self.events[end].needs |= need
                    before |= 0 if linger else stores
        assert all(e.reader is not None for e in self.events if e.kind == "data")  # all data are read: `short` needs it
        self.follow()

    def add(self, *args):
        self.events.append(Event(*args))
        return len(self.events) - 1

    def launch(self, layout, form, epoch, rank, owed):
        """Makes the events of a rank's part in a launch: of its begin, of its blocks' steps, of its end."""
        begin, blocks = self.add("begin", rank, epoch, "begins"), []
        for number in range(blocks_of(form)):
            steps = []
            for step in Block(layout, self.ranks, form, epoch, rank, number, owed).steps:
                event = None
                if step[0] == "store":
                    event = self.add("word", rank, epoch, f"{step[5]} comes to rank {step[1]}")
                    values = self.words[step[1], step[2]]
                    assert not values or values[-1][0] < step[3]  # words only grow
                    values.append((step[3], event))
                elif step[0] == "push":
                    region, lo, hi = step[2]
                    assert 0 <= lo < hi <= CELLS[region]
                    event = self.add("data", rank, epoch, f"{step[5]} comes to rank {step[1]}, {region} {lo}..{hi - 1}")
                    self.data[step[1], step[3]] = event, step[2], step[4]
                elif step[0] == "end":
                    event = self.add("read", rank, epoch, "has read")
                steps.append((step, event))
            blocks.append(steps)
        return begin, blocks, self.add("end", rank, epoch, "ends")

    def meet(self):
        """Finds which data lie in the same cells."""
        by_cells, self.flags = collections.defaultdict(int), {}
        for (owner, _), (event, (region, lo, hi), flag) in self.data.items():
            self.flags[event] = flag
            by_cells[owner, region, lo, hi] |= 1 << event
        for a, events in by_cells.items():
            for b, others in by_cells.items():
                if a[:2] == b[:2] and a[2] < b[3] and b[2] < a[3]:
                    for event in bits(events):
                        self.events[event].hits |= others & ~(1 << event)

    def connect(self, rank, need, steps):
        """What a block's events need. Returns what its end needs, and its stores."""
        reading, stores, to_peer, word = 0, 0, collections.defaultdict(int), {}
        for step, n in steps:
            if step[0] == "wait":
                need |= next((1 << come for value, come in self.words[rank, step[1]] if value >= step[2]), NEVER)
            elif step[0] == "read":
                data, place, flag = self.data[rank, step[2]]
                assert place == step[1] and flag == step[3]  # both sides mean the same
                if flag is not None:  # the first line that comes with this flag
                    need |= 1 << min(e for e in bits(self.events[data].hits | 1 << data) if self.flags[e] == flag)
                reading |= 1 << data
            elif step[0] == "end":
                self.events[n].needs, self.events[n].reads = need, reading
                for data in bits(reading):
                    event = self.events[data]
                    event.reader = n
                    self.events[n].text += f" {event.text.split(' comes')[0]} of rank {event.rank}"
                need, reading = 1 << n, 0
            else:
                self.events[n].needs = need
                if step[0] == "store":
                    values = [event for _, event in self.words[step[1], step[2]]]
                    at = values.index(n)
                    self.events[n].needs |= (1 << values[at - 1] if at else 0) | (to_peer[step[1]] if step[4] else 0)
                stores |= 1 << n
                to_peer[step[1]] |= 1 << n
        return need, stores

    def follow(self):
        """All that has happened before each event in any order; what never happens is stuck."""
        self.after, self.before = [[] for _ in self.events], [0] * len(self.events)
        for n, event in enumerate(self.events):
            for needed in bits(event.needs & OTHERS):
                self.after[needed].append(n)
        state, ready = 0, [n for n, event in enumerate(self.events) if not event.needs]
        while ready:
            n = ready.pop()
            state |= 1 << n
            for needed in bits(self.events[n].needs):
                self.before[n] |= self.before[needed] | 1 << needed
            ready += [a for a in self.after[n] if not self.events[a].needs & ~state]
        self.stuck = ((1 << len(self.events)) - 1) & ~state

    def hit_later(self, n):
        """Whether other data may come where these are; not those that have been read before these can come."""
        return any(not self.before[n] >> self.events[other].reader & 1 for other in bits(self.events[n].hits))

    # The searches; each returns a fault (what, event, data) or None, and the number of states.
    def stale(self):
        late = ((n, data) for n, event in enumerate(self.events) if not self.stuck >> n & 1
                for data in bits(event.reads & ~self.before[n]))
        return next((("stale", *pair) for pair in late), None)

    def order(self):
        if self.stuck:
            return ("stuck", None, None), 1
        fault = self.stale()
        for n, event in enumerate(self.events if not fault else []):
            for other in bits(event.hits >> n << n):
                read = self.before[other] >> event.reader | self.before[n] >> self.events[other].reader
                fault = fault if read & 1 else ("overwritten", other, n)
        return fault, 1

    def search(self, whole):
        events, after = self.events, self.after
        needs, hits, reads = ([getattr(e, name) for e in events] for name in ("needs", "hits", "reads"))
        read = [1 << e.reader if e.kind == "data" else 0 for e in events]
        steps = ("read", "word", "data") if whole else ("read",)
        slow = [e.kind in steps and (whole or any(self.hit_later(n) for n in bits(e.reads))) for e in events]

        def take(state, ready, step=None):
            """Takes `step`, and all that is taken at once: the state, what else can happen, a fault."""
            rest, at = [], 0
            while at < len(ready):
                n, at = ready[at], at + 1
                if slow[n] and n != step:
                    rest.append(n)
                    continue
                state |= 1 << n
                if hits[n] & state:
                    for other in bits(hits[n] & state):
                        if not state & read[other]:
                            return state, rest, ("overwritten", n, other)
                if reads[n] & ~state:
                    return state, rest, ("stale", n, next(bits(reads[n] & ~state)))
                for a in after[n]:
                    if not needs[a] & ~state:
                        ready.append(a)
            return state, rest, None

        state, rest, fault = take(0, [n for n in range(len(events)) if not needs[n]])
        seen, stack = {state}, [(state, rest)]
        fault = fault or (None if whole else self.stale())
        while stack and not fault:
            state, rest = stack.pop()
            if not rest and state + 1 != 1 << len(events):
                fault = "stuck", None, None
            for n in rest:
                if state | 1 << n in seen:  # come to in another order, which would have shown the same fault
                    continue
                ahead, more, fault = take(state, [n], n)
                if fault:
                    break
                if ahead not in seen:
                    seen.add(ahead)
                    stack.append((ahead, [r for r in rest if r != n] + more))
        return fault, len(seen)

    def tell(self, fault):
        """The least that must have happened for a fault, in an order in which it can happen."""
        what, n, other = fault
        name = lambda e: f"rank {e.rank}, launch {e.epoch} ({self.forms[e.epoch - 1][0]}): {e.text}"
        if what == "stuck":
            first = {e.rank: e for e in reversed([self.events[n] for n in bits(self.stuck)])}
            return [f"never: {name(e)}" for e in first.values()]
        left = self.before[n] | (self.before[other] | 1 << other if what == "overwritten" else 0)
        told, state = [], 0
        while left & ~state:  # a rank goes on as long as it can
            can = [self.events[e] for e in bits(left & ~state) if not self.events[e].needs & ~state]
            event = next((e for e in can if told and e.rank == told[-1].rank), can[0])
            told.append(event)
            state |= 1 << self.events.index(event)
        end = "<- where it has not read: " if what == "overwritten" else "<- without waiting for: "
        return [name(e) for e in told] + [name(self.events[n]), end + name(self.events[other])]


def some(every):
    """All of these sequences, or one in STEP of them, spread by a hash so that no form is left out for its place."""
    return (sequence for number, sequence in enumerate(every) if (number * 2654435761 >> 7) % STEP == 0)


def sequences(ranks, kinds, sizes, launches=3):
    """Sequences of launches of one or two forms, of these two kinds."""
    return some(all_sequences(ranks, kinds, sizes, launches))


def all_sequences(ranks, kinds, sizes, launches):
    one, other = (forms(ranks, kind, sizes) for kind in kinds)
    for f, g in itertools.product(one, other):
        if kinds[0] != kinds[1] or f <= g:
            for sequence in itertools.product((f, g), repeat=launches) if f != g else [(f,) * launches]:
                if len(set(sequence)) == 2 or kinds[0] == kinds[1] and f == g:
                    yield sequence


PAIRS = list(itertools.combinations_with_replacement(REGION, 2))
TOGETHER = [pair for pair in PAIRS if REGION[pair[0]] == REGION[pair[1]]]  # others meet in begins and ends alone
CHUNKS, CHAINS, LINES = ("pipeline", "chain"), ("chain", "chain"), ("ll128", "chain_ll128")
SIZES = ["small", "large", "blocks"]
EVERY, STEP = (1, 1) if sys.argv[1:] == ["all"] else (4, 5)


class Tally:
    """Sequences and states, by row of the table and by search; faults."""

    def __init__(self):
        self.sequences, self.states, self.faults = collections.Counter(), collections.Counter(), []

    def check(self, row, layout, ranks, sequence, searches, linger=False):
        events, found = Sequence(layout, ranks, sequence, linger), []
        if row != "again" and self.sequences[row] % EVERY:
            searches = searches[1:] or searches
        for search in searches:
            fault, states = events.order() if search == "order" else events.search(search == "whole")
            self.states[row, search] += states
            found.append(fault)
        self.sequences[row] += 1
        assert len({fault and fault[0] for fault in found}) == 1, (sequence, searches, found)
        if found[0]:
            self.faults.append((ranks, sequence, found[0][0], events.tell(found[0])))


def check_new():
    """All that must be without fault."""
    tally, new = Tally(), New()
    for pair in PAIRS:
        name = " and ".join(pair)
        for sequence in sequences(2, pair, SIZES if pair in TOGETHER else SIZES[:1]):
            tally.check((name, "2 ranks"), new, 2, sequence, ["short", "order"])
        for sequence in sequences(3, pair, SIZES[:1]):
            tally.check((name, "3 ranks"), New(more=1, chain_opening=2), 3, sequence, ["short", "order"])
        for sequence in sequences(2, pair, SIZES[:1], 2 if "chain_ll128" in pair else 3) if pair in TOGETHER else []:
            tally.check((name, "2 ranks, whole"), New(more=1), 2, sequence, ["whole", "short", "order"])
    for pair in [CHUNKS, CHAINS]:
        name = " and ".join(pair) + ", short"
        for sequence in sequences(2, pair, SIZES):
            tally.check((name, "2 ranks"), New(chain_short=True), 2, sequence, ["short", "order"])
        for sequence in sequences(3, pair, SIZES[::2]):
            tally.check((name, "3 ranks"), New(more=1, chain_short=True, chain_opening=2), 3, sequence, ["order"])
        for sequence in sequences(2, pair, SIZES[:1]):
            tally.check((name, "2 ranks, whole"), New(chain_short=True), 2, sequence, ["whole", "short", "order"])
    for one, other in (pair for pair in TOGETHER if pair[0] != pair[1]):
        for between in set(REGION) - {one, other}:
            for kinds in (one, between, other), (other, between, one):
                for sequence in some(itertools.product(*(forms(2, kind, SIZES[:1]) for kind in kinds))):
                    tally.check(("three kinds", "2 ranks"), new, 2, sequence, ["short", "order"])
    for sequence in sequences(2, ("ll", "ll"), SIZES[:1]):
        tally.check(("linger: ll and ll", "2 ranks, whole"), new, 2, sequence, ["whole", "short", "order"], True)
    for pair in TOGETHER:  # not only `ll`: the layout does not need that stores have arrived when a launch ends
        for sequence in sequences(2, pair, SIZES[:1]):
            tally.check(("linger: all", "2 ranks"), new, 2, sequence, ["short", "order"], True)
    return tally


FAULTY = [  # what, layout, pairs of kinds, of which each must show the fault
    ("old layout", Old(), [CHUNKS, ("pipeline", "pipeline"), LINES, ("twoshot", "chain_ll128")], "overwritten"),
    ("pipeline pushes into the ring without the peer's word", New(ring_waits=False), [CHUNKS], "overwritten"),
    ("halves and openings do not take turns", New(alternates=False), [("ll", "ll"), LINES, CHUNKS], "overwritten"),
    ("a launch pushes before all are known to have begun the last", New(begins_late=False), [("ll", "ll"), LINES],
     "overwritten"),
    ("chain pushes its first chunk before all are known to have begun the last", New(begins_late=False, chain_short=True),
     [CHAINS], "overwritten"),
    ("chain pushes into the ring without the token", New(chain_waits=False), [CHUNKS, CHAINS], "overwritten"),
    ("lines of all rounds have one flag", New(round_flags=False), [("chain_ll128", "chain_ll128")], "stale"),
    ("a mark may come before what it tells of", New(releases=False), [CHUNKS], "stale"),
    ("an allreduce stores no tokens", New(all_tell=False), [("pipeline", "pipeline")], "stuck"),
]


def find_faults(layout, pair, what):
    """Looks through all sequences of a pair: how many, how many are faulty, and the one that is told in the fewest
    lines. The other searches must find faults too."""
    tally = Tally()
    for sequence in sequences(2, pair, SIZES):
        tally.check("", layout, 2, sequence, ["order"])
    faults = [fault for fault in tally.faults if fault[2] == what]
    shortest = min(faults, key=lambda fault: len(fault[3]), default=None)
    for _, sequence, _, _ in [shortest, faults[-1]] if faults else []:
        tally.check("again", layout, 2, sequence, ["short", "order"])
    small = [fault for fault in faults if all(form[3] == "small" for form in fault[1])]
    for _, sequence, _, _ in small[:1]:
        tally.check("again", layout, 2, sequence, ["whole", "order"])
    return tally.sequences[""], len(faults), shortest


def names(sequence):
    return ", ".join(" ".join((kind, f"root {root}" if shape == "root" else shape, size))
                     for kind, shape, root, size in sequence)


def main():
    start, missed = time.monotonic(), 0
    tally = check_new()
    print(f"{'new layout':28}{'':16}{'sequences':>10}{'states':>10}{'whole':>10}")
    for row, number in tally.sequences.items():
        whole = tally.states[row, "whole"] or ""
        print(f"{row[0]:28}{row[1]:16}{number:10}{tally.states[row, 'short']:10}{whole:>10}")
    total = [sum(n for (_, search), n in tally.states.items() if search == name) for name in ("short", "whole")]
    print(f"{'all':44}{sum(tally.sequences.values()):10}{total[0]:10}{total[1]:10}")
    print("FAULTS" if tally.faults else "no fault")
    for ranks, sequence, what, told in tally.faults[:1]:
        print(f"{what}, {ranks} ranks, {names(sequence)}:", *told, sep="\n    ")
    for name, layout, pairs, what in FAULTY:
        for pair in pairs:
            looked, faults, shortest = find_faults(layout, pair, what)
            print(f"\n{name}: {' and '.join(pair)}: {what} in {faults} of {looked} sequences")
            missed += not shortest
            if shortest:
                print(f"  {names(shortest[1])}:", *shortest[3], sep="\n    ")
    print(f"\n{len(tally.faults)} faults in the new layout, {missed} faults not found where there is one; "
          f"{time.monotonic() - start:.0f} s")
    return 1 if tally.faults or missed else 0


if __name__ == "__main__":
    sys.exit(main())
