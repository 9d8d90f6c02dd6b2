"""One peer in a process of its own: reads case names from standard input, answers with seconds per operation, one line each.

Run as `python -m bench.worker PEER THREADS`, in the peer's environment.
"""

import gc
import json
import resource
import statistics
import sys
import time
import traceback

from bench.cases import CASES
from bench.peers import make_peer

# How long one measurement lasts, in seconds; long single runs count once.
_SLICE = 0.15


def measure(name: str, peer: object, made: dict[str, object]) -> dict[str, object]:
    """The median time per operation of a few repetitions that together last about _SLICE."""
    if name not in made:
        made[name] = CASES[name][1](peer)
    work, operations = made[name]  # type: ignore[misc]
    work()
    gc.collect()
    start = time.perf_counter()
    work()
    once = time.perf_counter() - start
    loops = max(1, int(_SLICE / 5 / max(once, 1e-7)))
    times = []
    for _ in range(5 if once < _SLICE else 1):
        start = time.perf_counter()
        for _ in range(loops):
            work()
        times.append((time.perf_counter() - start) / loops)
    return {"seconds": statistics.median(times) / operations}


def main() -> None:
    """Answer requests until the input ends."""
    name, threads = sys.argv[1], int(sys.argv[2])
    peer = make_peer(name, threads)
    print(json.dumps({"ready": peer.version}), flush=True)
    made: dict[str, object] = {}
    for line in sys.stdin:
        case = line.strip()
        try:
            if case == "peak":
                answer: dict[str, object] = {"kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
            else:
                answer = measure(case, peer, made)
        except Exception:
            answer = {"error": traceback.format_exc().splitlines()[-1]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
