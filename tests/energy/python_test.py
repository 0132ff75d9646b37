"""The Python binding over a pretended NVML and a pretended powercap tree: python_test.py BINDING-FOLDER LIBRARY NVML"""
import os
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import tutti_energy  # noqa: E402

os.environ["FAKE_NVML_WATTS"] = "100,250"
checks = 0


def check(fine, what):
    global checks
    checks += 1
    if not fine:
        sys.exit("FAILED: %s" % (what,))


with tempfile.TemporaryDirectory() as folder:
    def put(name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as to:
            to.write(text)

    put("users/1", "4711\n4712\n")
    os.environ["FAKE_NVML_USERS"] = os.path.join(folder, "users")
    put("intel-rapl:0/name", "package-0\n")
    put("intel-rapl:0/energy_uj", "9000000\n")
    put("intel-rapl:0/max_energy_range_uj", "10000000\n")
    with tutti_energy.Meter(interval_ms=5, nvml=sys.argv[3], powercap=folder, trace=True, library=sys.argv[2]) as meter:
        sources = {source.name: source for source in meter.sources}
        check(sorted(sources) == ["dram", "gpu 0", "gpu 1", "package-0"], sources)
        check(sources["gpu 1"].id == "GPU-fake-1" and sources["gpu 1"].model == "Pretended GPU", "about a GPU")
        check("no domain dram" in sources["dram"].reason, sources["dram"].reason)
        outer = meter.window()
        with meter.window() as window:
            put("intel-rapl:0/energy_uj", "1500000\n")
            while len(meter.samples()) < 10:
                pass
        figures = {figure.name: figure for figure in window.figures}
        check(abs(figures["package-0"].joules - 2.5) < 1e-9 and figures["package-0"].integral is None, "a counter that wraps")
        check(window.joules("package") == figures["package-0"].joules and window.joules("dram") is None, "sums")
        check(abs(figures["gpu 1"].integral - 250 * window.seconds) < 1e-6 and figures["gpu 1"].cap_w == 700, "power")
        check(figures["dram"].joules is None and figures["dram"].reason, "unavailable")
        check(figures["gpu 0"].scope == "own" and figures["gpu 0"].samples > 0, "scope and samples")
        check(outer.look()[0].seconds >= window.seconds and outer.end(), "windows that overlap")
        try:
            outer.end()
            check(False, "a window ends twice")
        except OSError as error:
            check(str(error), "the status in words")
        seconds, watts, joules = meter.samples()[-1]
        by_name = dict(zip([source.name for source in meter.sources], watts))
        check(seconds > 0 and by_name["gpu 0"] == 100 and by_name["dram"] is None, "samples")
        check(meter.processes(sources["gpu 1"]) == [4711, 4712] and meter.processes(sources["gpu 0"]) == [], "processes")
        check(meter.processes(sources["dram"]) is None, "processes of DRAM")
        check(meter.own_seconds() > 0, "processor seconds of the reading thread")
print("%d checks, 0 failed" % checks)
