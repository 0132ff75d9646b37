"""Joules of GPUs, processor packages and DRAM, read beside the time: tutti/energy.h for Python.

    import tutti_energy

    with tutti_energy.Meter() as meter:
        with meter.window() as window:
            work()
        print(window.joules("gpu"), "J of the GPUs in", window.seconds, "s")
        for figure in window.figures:
            print(figure.name, figure.joules, figure.reason)

A source that this machine or this user lacks is listed with the reason, and its figures are None: unavailable is never 0. All
calls are local and safe from any thread. docs/energy.md says how long a window must be.
"""
import ctypes
import math
import os

KINDS = ("gpu", "package", "dram")


class _Options(ctypes.Structure):
    _fields_ = [("interval_ms", ctypes.c_int), ("gpus", ctypes.c_char_p), ("nvml", ctypes.c_char_p),
                ("powercap", ctypes.c_char_p), ("cpuinfo", ctypes.c_char_p), ("every_rank", ctypes.c_int),
                ("trace", ctypes.c_int)]


class _Source(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char * 48), ("id", ctypes.c_char * 96),
                ("model", ctypes.c_char * 96), ("reason", ctypes.c_char * 256), ("counter", ctypes.c_int),
                ("power", ctypes.c_int)]


class _Figure(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in (
        "seconds", "joules", "integral", "difference", "average_w", "clock_mhz", "memory_clock_mhz", "celsius", "cap_w")]
    _fields_ += [("updates", ctypes.c_long), ("samples", ctypes.c_long), ("scope", ctypes.c_int),
                 ("reason", ctypes.c_char * 256)]


def _library(path):
    here = os.path.dirname(os.path.abspath(__file__))
    near = [os.path.join(here, "..", "..", "..", folder, "libtutti-core.so.0") for folder in ("lib", "lib64")]
    for name in [path] if path else [*near, "libtutti-core.so.0"]:
        if os.sep not in name or os.path.exists(name):
            break
    library = ctypes.CDLL(name)
    meter = ctypes.c_void_p
    library.tutti_energy_open.argtypes = [ctypes.POINTER(_Options), ctypes.POINTER(meter)]
    library.tutti_energy_close.argtypes = [meter]
    library.tutti_energy_close.restype = None
    library.tutti_energy_sources.argtypes = [meter]
    library.tutti_energy_source.argtypes = [meter, ctypes.c_int, ctypes.POINTER(_Source)]
    library.tutti_energy_begin.argtypes = [meter]
    for call in (library.tutti_energy_look, library.tutti_energy_end):
        call.argtypes = [meter, ctypes.c_int, ctypes.POINTER(_Figure), ctypes.c_int]
    library.tutti_energy_processes.argtypes = [meter, ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.c_int]
    library.tutti_energy_own_seconds.argtypes = [meter]
    library.tutti_energy_own_seconds.restype = ctypes.c_double
    library.tutti_energy_samples.argtypes = [meter]
    library.tutti_energy_samples.restype = ctypes.c_long
    doubles = ctypes.POINTER(ctypes.c_double)
    library.tutti_energy_sample.argtypes = [meter, ctypes.c_long, doubles, doubles, doubles, ctypes.c_int]
    library.tutti_status_text.argtypes = [ctypes.c_int]
    library.tutti_status_text.restype = ctypes.c_char_p
    return library


def _known(value):
    return None if math.isnan(value) else value


class Source:
    """A GPU, a package or DRAM. reason: why it is unavailable; empty: it is available."""

    def __init__(self, raw):
        self.kind = KINDS[raw.kind]
        self.name, self.id, self.model, self.reason = (
            text.decode() for text in (raw.name, raw.id, raw.model, raw.reason))
        self.counter, self.power = bool(raw.counter), bool(raw.power)


class Figure:
    """A source over a window, as struct tutti_energy_figure; what is not known is None."""

    def __init__(self, source, raw):
        self.kind, self.name = source.kind, source.name
        for name, kind in _Figure._fields_:
            value = getattr(raw, name)
            setattr(self, name, _known(value) if kind is ctypes.c_double else value)
        self.scope = "module" if raw.scope else "own"
        self.reason = raw.reason.decode()


class Window:
    """Made by Meter.window(); ends with its `with` block or with end()."""

    def __init__(self, meter):
        self._meter = meter
        self._number = meter._must(meter._library.tutti_energy_begin(meter._meter))
        self.figures = []

    def _read(self, call):
        room = len(self._meter.sources)
        raw = (_Figure * room)()
        self._meter._must(call(self._meter._meter, self._number, raw, room))
        self.figures = [Figure(source, figure) for source, figure in zip(self._meter.sources, raw)]
        return self.figures

    def look(self):
        """The figures until now; the window stays open."""
        return self._read(self._meter._library.tutti_energy_look)

    def end(self):
        """The figures; the window is closed."""
        return self._read(self._meter._library.tutti_energy_end)

    @property
    def seconds(self):
        return self.figures[0].seconds if self.figures else None

    def joules(self, kind):
        """Sum over the sources of the kind, by their counters; None if one of them is unavailable or the kind has no source."""
        values = [figure.joules for figure in self.figures if figure.kind == kind]
        return None if not values or None in values else sum(values)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()


class Meter:
    """Reads all sources every interval_ms milliseconds on a thread of its own, until close(). gpus: UUIDs with commas, "none", or
    None for the setting TUTTI_ENERGY_GPUS. library: path of libtutti-core.so; None: that of this installation."""

    def __init__(self, interval_ms=0, gpus=None, nvml=None, powercap=None, every_rank=False, trace=False, library=None):
        self._library = _library(library)
        self._meter = ctypes.c_void_p()
        texts = [text.encode() if text is not None else None for text in (gpus, nvml, powercap)]
        options = _Options(interval_ms, *texts, None, int(every_rank), int(trace))
        self._must(self._library.tutti_energy_open(ctypes.byref(options), ctypes.byref(self._meter)))
        self.sources = []
        for i in range(self._library.tutti_energy_sources(self._meter)):
            raw = _Source()
            self._must(self._library.tutti_energy_source(self._meter, i, ctypes.byref(raw)))
            self.sources.append(Source(raw))

    def _must(self, status):
        if status < 0:
            raise OSError(self._library.tutti_status_text(status).decode())
        return status

    def window(self):
        return Window(self)

    def processes(self, source):
        """Numbers of the processes that compute on a GPU now, an element of sources; None where it cannot list them."""
        pids = (ctypes.c_int * 64)()
        n = self._library.tutti_energy_processes(self._meter, self.sources.index(source), pids, len(pids))
        return None if n < 0 else list(pids[:n])

    def own_seconds(self):
        """Processor seconds of the thread that reads."""
        return self._library.tutti_energy_own_seconds(self._meter)

    def samples(self):
        """Of a meter with trace=True: tuples of seconds, watts of each source, joules of each source."""
        n, out = len(self.sources), []
        seconds, watts, joules = ctypes.c_double(), (ctypes.c_double * n)(), (ctypes.c_double * n)()
        for i in range(self._library.tutti_energy_samples(self._meter)):
            self._must(self._library.tutti_energy_sample(self._meter, i, ctypes.byref(seconds), watts, joules, n))
            out.append((seconds.value, [_known(w) for w in watts], [_known(j) for j in joules]))
        return out

    def close(self):
        meter, self._meter = self._meter, None
        if meter:
            self._library.tutti_energy_close(meter)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
