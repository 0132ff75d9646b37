"""The flow kernels and the layouts of a channel as the model has them: src/kernels/*.inc told again as lists of steps,
and the places of src/coll/*/*.c in regions of a few dozen cells. See channel.py.

A form is (kind, shape, root, size). Sizes: `small`, one block and small rooms, as a short message has; `large`, one
block and all the room there is; `blocks`, two blocks that share it. Shapes are those of enum tutti_shape, and `first`:
everybody gets everything, but only the first rank's slice has elements."""

REGION = {"ll": "LL", "ll128": "LINES", "twoshot": "LINES", "chain_ll128": "LINES", "pipeline": "CHUNKS",
          "chain": "CHUNKS"}
CELLS = {"LL": 24, "LINES": 48, "CHUNKS": 96}
DEPTH, CHAIN_DEPTH = 3, 4  # chunks under way
SMALL = 2  # cells


def forms(ranks, kind, sizes):
    """All forms of a kind. The slots of `ll`, `ll128` and `twoshot` do not depend on the size."""
    roots = [("root", root) for root in range(ranks)]
    gather = [("all", 0), ("segments", 0), ("through", 0), ("before", 0), *roots]
    shapes = {"ll": gather + [("nothing", 0)], "ll128": gather, "twoshot": [("all", 0), ("first", 0), *roots],
              "pipeline": [("all", 0), ("segments", 0), *roots], "chain": roots, "chain_ll128": roots}[kind]
    if kind in ("ll", "ll128", "twoshot"):
        sizes = [size for size in sizes if size != "large"]
    return [(kind, *shape, size) for shape in shapes for size in sizes]


class Block:
    """Steps of one block of one launch on one rank, in order:
    ("store", to, word, value, release, text)   a token, mark or used
    ("push", to, place, name, flag, text)       data; the name is the same on both sides
    ("wait", word, value)
    ("read", place, name, flag)                 waits for the flag, if any, and begins to read
    ("end",)                                    all that has begun to be read has been read to the end"""

    def __init__(self, layout, ranks, form, epoch, rank, block, owed=0):
        self.kind, self.shape, self.root, self.size = form
        self.layout, self.ranks, self.epoch, self.rank, self.block = layout, ranks, epoch, rank, block
        self.blocks = blocks_of(form)
        self.peers = [(rank + i) % ranks for i in range(1, ranks)]
        self.all = self.shape in ("all", "first")
        self.steps = []
        if block == 0 and (layout.all_tell or not self.all):
            for peer in self.peers:
                self.steps.append(("store", peer, ("token", rank), (epoch, 0), False, "token"))
        for peer in self.peers if owed and layout.begins_late else []:
            self.steps.append(("wait", ("token", peer), (owed, 0)))
        getattr(self, "run_" + self.kind)()
        if block == 0 and not self.all and (layout.ends_late or self.shape == "nothing"):
            for peer in self.peers:
                self.begun(peer)

    # What the bodies call.
    def begun(self, peer):
        self.steps.append(("wait", ("token", peer), (self.epoch, 0)))

    def mark(self, phase, to, k, release=True):
        word = ("mark", self.block, phase, self.rank)
        text = f"{'mark' if release else 'used'} of phase {phase} for chunk {k}, block {self.block},"
        self.steps.append(("store", to, word, (self.epoch, k + 1), release and self.layout.releases, text))

    def used(self, phase, to, k):
        self.mark(phase, to, k, False)

    def wait(self, phase, peer, k):
        self.steps.append(("wait", ("mark", self.block, phase, peer), (self.epoch, k + 1)))

    def push(self, to, place, what, flag=None):
        text = f"{what[0]} {'.'.join(map(str, what[1:]))}, block {self.block},"
        self.steps.append(("push", to, place, (self.epoch, self.block, self.rank, *what), flag, text))

    def read(self, place, rank, what, flag=None):
        self.steps.append(("read", place, (self.epoch, self.block, rank, *what), flag))

    def read_end(self):
        self.steps.append(("end",))

    # gather.inc: ll, ll128
    def gives(self, rank, to):
        shapes = {"root": to == self.root, "through": to >= rank, "before": to > rank, "nothing": False}
        return shapes.get(self.shape, True)

    def run_ll(self):
        slots = [lines(self.layout.packets(self, self.ranks, number)) for number in range(self.ranks)]
        for peer in self.peers:
            for i, line in enumerate(slots[self.rank] if self.gives(self.rank, peer) else []):
                self.push(peer, line, ("line", i), self.epoch)
        for i in range(len(slots[0])):
            for r in range(self.ranks):
                if r != self.rank and self.gives(r, self.rank):
                    self.read(slots[r][i], r, ("line", i), self.epoch)
                    self.read_end()

    run_ll128 = run_ll

    # twoshot_ll128.inc
    def run_twoshot(self):
        slots = [lines(self.layout.packets(self, 2 * self.ranks, number)) for number in range(2 * self.ranks)]
        owns = lambda rank: self.shape != "first" or rank == 0
        gets = lambda rank: self.all or rank == self.root
        for peer in self.peers:
            for i, line in enumerate(slots[self.rank] if owns(peer) else []):
                self.push(peer, line, ("line", i), self.epoch)
        for i in range(len(slots[0]) if owns(self.rank) else 0):
            for r in range(self.ranks):
                if r != self.rank:
                    self.read(slots[r][i], r, ("line", i), self.epoch)
                    self.read_end()
            for peer in self.peers:
                if gets(peer):
                    self.push(peer, slots[self.ranks + self.rank][i], ("result", i), self.epoch)
        for peer in self.peers if gets(self.rank) else []:
            for i, line in enumerate(slots[self.ranks + peer] if owns(peer) else []):
                self.read(line, peer, ("result", i), self.epoch)
                self.read_end()

    # pipeline.inc
    def run_pipeline(self):
        def place(at, sender, k, result):
            return self.layout.pipeline(self, k, result * len(self.peers) + (sender if sender < at else sender - 1))

        rounds = DEPTH + self.layout.more
        gets = lambda rank: self.all or (self.shape == "root" and rank == self.root)
        for k in range(rounds + 2):
            if k < rounds:
                for peer in self.peers:
                    if k == 1 and self.layout.ring_waits:
                        self.begun(peer)
                    self.push(peer, place(peer, self.rank, k, 0), ("chunk", k))
                for peer in self.peers:
                    self.mark(0, peer, k)
            if 1 <= k <= rounds:
                for peer in self.peers:
                    self.wait(0, peer, k - 1)
                for peer in self.peers:
                    self.read(place(self.rank, peer, k - 1, 0), peer, ("chunk", k - 1))
                for peer in filter(gets, self.peers):  # results go out while chunks are still being read
                    self.push(peer, place(peer, self.rank, k - 1, 1), ("result", k - 1))
                self.read_end()
                for peer in self.peers:
                    self.mark(1, peer, k - 1, self.shape != "segments")
            if k >= 2:
                for peer in self.peers:
                    self.wait(1, peer, k - 2)
                for peer in self.peers if gets(self.rank) else []:
                    self.read(place(self.rank, peer, k - 2, 1), peer, ("result", k - 2))
                    self.read_end()

    # chain.inc, and as relay chain_ll128.inc, in which lines carry flags and no marks say that they have come
    def run_chain(self, relay=False):
        depth = DEPTH if relay else CHAIN_DEPTH
        turned = self.ranks == 2 and self.root == 0  # tutti_chain_turned()
        first, last, before = (1, 0, 1) if turned else (0, self.ranks - 1, self.rank - 1)
        rounds = depth + self.layout.more
        if self.size == "small" and self.layout.chain_short and not relay:
            rounds = self.layout.chain_opening
        sends = self.rank != last or self.rank != self.root
        following = self.root if self.rank == last or turned else self.rank + 1
        takes = self.rank == self.root and self.root != last
        lag = (depth - (1 if relay else 2)) if takes else 0

        def pieces(k, number):
            if relay:
                number += (self.block * depth + k % depth) * 2
                flag = ("round", self.epoch, k if self.layout.round_flags else 0)
                return [(line, flag) for line in lines(self.layout.packets(self, self.blocks * depth * 2, number))]
            return [(self.layout.chain(self, depth, k % depth, number), None)]

        for k in range(rounds + lag):
            if k < rounds:
                if sends and not relay and self.layout.chain_waits and k == self.layout.chain_opening:
                    self.begun(following)
                if self.rank != first and not relay:
                    self.wait(0, before, k)
                if sends and k >= depth:
                    self.wait(1, following, k - depth)
                for i, (place, flag) in enumerate(pieces(k, 0)):
                    if self.rank != first:
                        self.read(place, before, ("partial", k, i), flag)
                        if relay:  # a line is in registers before it goes on
                            self.read_end()
                    if sends:
                        place, flag = pieces(k, int(self.rank == last))[i]
                        self.push(following, place, ("result" if self.rank == last else "partial", k, i), flag)
                    if self.rank != first and not relay:
                        self.read_end()
                if sends and not relay:
                    self.mark(2 if self.rank == last else 0, following, k)
                if self.rank != first:
                    self.used(1, before, k)
            if takes and k >= lag:
                if not relay:
                    self.wait(2, last, k - lag)
                for i, (place, flag) in enumerate(pieces(k - lag, 1)):
                    self.read(place, last, ("result", k - lag, i), flag)
                    self.read_end()
                self.used(1, last, k - lag)

    def run_chain_ll128(self):
        self.run_chain(relay=True)


def blocks_of(form):
    return 2 if form[3] == "blocks" else 1


def lines(place):
    """The one or two lines that a place in the model is."""
    region, lo, hi = place
    middle = (lo + hi + 1) // 2
    return [(region, lo, middle), (region, middle, hi)] if middle < hi else [place]


class Old:
    """As the kernels' shape() functions had it: rooms and sets of each kernel's own size, from the region's start."""

    more = 2  # rounds of a launch beyond its depth
    all_tell = False  # an allreduce too stores tokens
    ends_late = True  # a launch ends when all peers are known to have begun it
    begins_late = False  # or else the next one pushes only then
    chain_waits = True  # `chain` waits for the next rank's token before it pushes into the ring
    chain_opening = 0  # chunks of `chain` that have slots in the opening
    chain_short = False  # small launches of `chain` have no other chunks
    ring_waits = False  # `pipeline` waits for a peer's token before it pushes into its ring
    alternates = True  # halves, or openings, take turns
    releases = True  # a mark comes after what was stored before it
    round_flags = True  # flags of `chain_ll128` differ from round to round

    def __init__(self, **laws):
        self.__dict__.update(laws)

    def turn(self, block):
        return block.epoch & 1 if self.alternates else 0

    def room(self, block, most):
        return min(most, SMALL) if block.size == "small" else most

    def packets(self, block, slots, number):
        """Slot `number` of the `slots` of a set, or the block's part of it where blocks share slots."""
        region, distance = REGION[block.kind], CELLS[REGION[block.kind]] // 2 // slots
        if block.kind == "chain_ll128":
            distance = self.room(block, distance)
        lo = self.packets_base(block, slots * distance) + number * distance
        room = self.room(block, distance)
        if block.blocks == 2 and block.kind != "chain_ll128":
            return region, lo + block.block * room // 2, lo + (block.block + 1) * room // 2
        return region, lo, lo + room

    def packets_base(self, block, bytes_of_set):
        return self.turn(block) * bytes_of_set

    def chunks(self, block, slots, number, begin, end):
        """Slot `number` of `slots` in a part of the region."""
        room = self.room(block, (end - begin) // slots)
        return "CHUNKS", begin + number * room, begin + (number + 1) * room

    def pipeline(self, block, k, number):
        slots = 2 * (block.ranks - 1)
        number += (block.block * DEPTH + k % DEPTH) * slots
        return self.chunks(block, block.blocks * DEPTH * slots, number, 0, CELLS["CHUNKS"])

    def chain(self, block, depth, at, number):
        number += (block.block * depth + at) * 2
        return self.chunks(block, block.blocks * depth * 2, number, 0, CELLS["CHUNKS"])


class New(Old):
    """Two halves for packets and for lines, of fixed size. Chunks: [opening 0 | ring | opening 1]; the opening of an
    epoch and the ring lie side by side."""

    all_tell = ring_waits = begins_late = True
    ends_late = False
    chain_opening = 1

    def packets_base(self, block, bytes_of_set):
        return self.turn(block) * CELLS[REGION[block.kind]] // 2

    def pipeline(self, block, k, number):
        quarter, slots = CELLS["CHUNKS"] // 4, 2 * (block.ranks - 1)
        begin = quarter * (k % DEPTH) if k % DEPTH else 3 * quarter * self.turn(block)
        return self.chunks(block, block.blocks * slots, block.block * slots + number, begin, begin + quarter)

    def chain(self, block, depth, at, number):
        quarter, opens = CELLS["CHUNKS"] // 4, at < self.chain_opening
        begin = 3 * quarter * self.turn(block) if opens else quarter
        slots = self.chain_opening if opens else depth - self.chain_opening
        number += ((at if opens else at - self.chain_opening) * block.blocks + block.block) * 2
        return self.chunks(block, slots * block.blocks * 2, number, begin, begin + (1 if opens else 2) * quarter)
