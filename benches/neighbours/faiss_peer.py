"""FAISS on the vectors that `neighbours --write DIR` wrote: lists (IVFFlat) and a graph (HNSWFlat), one query at a time in one
thread. Every answer must have points of the set, each once, at their distances and in order. Prints rows of the same
table. Times are the processor's of the thread, as for the others. `--out FILE` adds them to the file that
`neighbours --write DIR --out FILE` wrote of the same vectors on the same processor.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import faiss
import numpy

EDGES = 24
WIDTH_OF_BUILDING = 200
CHUNK = 20_000
TOLERANCE = 1e-3
WARM_UP = 50
# As many lists and as wide as the others look.
PROBES = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
WIDTHS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640)


def check(name, number, query, points, distances, found):
    """FAISS computes the distances of lists in another order; its squares may differ in the last digits."""
    kept = found[found >= 0]
    if len(set(kept.tolist())) != len(kept) or (len(kept) and kept.max() >= len(points)):
        raise SystemExit(f"{name}, query {number}: found points twice, or points that are not there")
    needed = ((points[kept] - query) ** 2).sum(axis=1)
    told = distances[: len(kept)]
    if not numpy.allclose(needed, told, rtol=TOLERANCE, atol=TOLERANCE):
        raise SystemExit(f"{name}, query {number}: found distances {told}; they are {needed}")
    if (numpy.diff(told) < 0).any():
        raise SystemExit(f"{name}, query {number}: found points out of order")


def row(name, settings, index, points, queries, truth):
    neighbours = truth.shape[1]
    times, recalled = [], 0
    order = list(range(len(queries)))
    for number in order[-WARM_UP:]:
        index.search(queries[number : number + 1], neighbours)
    for number in order:
        query = queries[number : number + 1]
        begun = time.thread_time_ns()
        distances, found = index.search(query, neighbours)
        times.append((time.thread_time_ns() - begun) / 1e3)
        check(name, number, query[0], points, distances[0], found[0])
        recalled += len(set(found[0].tolist()) & set(truth[number].tolist()))
    p50, p99 = numpy.percentile(times, [50, 99])
    recall = recalled / truth.size
    print(f"| {name} | {settings} | {recall:.3f} | {p50:.0f} | {p99:.0f} |", flush=True)
    return {"index": name, "settings": settings, "recall_10": recall, "p50_us": p50, "p99_us": p99}


def kept_graph(path, points):
    """Built by all cores, which takes minutes; what was built before is kept, and goes on where it ended."""
    graph = faiss.read_index(str(path)) if path.exists() else faiss.IndexHNSWFlat(points.shape[1], EDGES)
    graph.hnsw.efConstruction = WIDTH_OF_BUILDING
    faiss.omp_set_num_threads(len(os.sched_getaffinity(0)))
    while graph.ntotal < len(points):
        begun = time.monotonic()
        graph.add(points[graph.ntotal : graph.ntotal + CHUNK])
        part = path.with_suffix(".part")
        faiss.write_index(graph, str(part))
        part.replace(path)
        print(f"FAISS: {graph.ntotal} of {len(points)} points, the last in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    faiss.omp_set_num_threads(1)
    return graph


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), "")


def others(path, shape):
    """What `neighbours` found of the same vectors on the same processor, without lines of an earlier run of this program."""
    if not path.exists():
        raise SystemExit(f"{path}: found no such file; first type: neighbours --write DIR --out {path}")
    found = json.loads(path.read_text())
    for what, value, needed in [("set", found["set"], shape["set"]), ("processor", found["machine"]["cpu"], processor())]:
        if value != needed:
            raise SystemExit(f"{path}: found lines of another {what}, {value}; here it is {needed}. Run neighbours again")
    if found["queries"] != shape["queries"]:
        raise SystemExit(f"{path}: found {found['queries']} queries; here are {shape['queries']}. Run neighbours again")
    is_ours = lambda text: "FAISS" in text or "faiss_peer" in text
    found["rows"] = [row for row in found["rows"] if not is_ours(row["index"])]
    found["commands"] = [command for command in found["commands"] if not is_ours(command)]
    return found


def add(path, found, rows):
    # An absolute path names a machine's owner: its last part alone is told.
    told = [os.path.basename(word) if os.path.isabs(word) else word for word in sys.argv[1:]]
    found["commands"].append(" ".join(["python3 benches/neighbours/faiss_peer.py", *told]))
    found["versions"]["FAISS"] = faiss.__version__
    found["rows"] += rows
    part = path.with_suffix(".new")
    part.write_text(json.dumps(found, indent=2) + "\n")
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where neighbours --write put its files")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE", help="what neighbours --out wrote")
    arguments = parser.parse_args()
    folder, out = arguments.folder, arguments.out
    shape = json.loads((folder / "shape.json").read_text())
    # Better refused before minutes of work than after.
    found = others(out, shape) if out else None
    read = lambda name, kind, width: numpy.fromfile(folder / name, dtype=kind).reshape(-1, width)
    points = read("points.f32", "<f4", shape["dimensions"])
    queries = read("queries.f32", "<f4", shape["dimensions"])
    truth = read("truth.u32", "<u4", shape["neighbours"]).astype(numpy.int64)
    faiss.omp_set_num_threads(1)
    print("| index | settings | recall@10 | p50, µs | p99, µs |\n|---|---|---|---|---|")

    lists = max(len(points) // 400, 2)
    rows = []
    ivf = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], lists)
    ivf.train(points)
    ivf.add(points)
    for probes in (probes for probes in PROBES if probes <= lists):
        ivf.nprobe = probes
        rows.append(row("FAISS IVFFlat", f"{lists} lists, {ivf.nprobe} probes", ivf, points, queries, truth))

    graph = kept_graph(folder / f"faiss-{len(points)}-{EDGES}-{WIDTH_OF_BUILDING}.graph", points)
    for width in WIDTHS:
        graph.hnsw.efSearch = width
        rows.append(row("FAISS HNSWFlat", f"{EDGES} edges, width {width}", graph, points, queries, truth))
    if out:
        add(out, found, rows)


if __name__ == "__main__":
    main()
