"""FAISS on the vectors that `neighbours --write DIR` wrote: lists (IVFFlat) and a graph (HNSWFlat), one query at a time in one
thread. Every answer must have points of the set, each once, at their distances and in order. Prints rows of the same
table. Times are the processor's of the thread, as for the others.
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
    print(f"| {name} | {settings} | {recalled / truth.size:.3f} | {p50:.0f} | {p99:.0f} |", flush=True)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where neighbours --write put its files")
    folder = parser.parse_args().folder
    shape = json.loads((folder / "shape.json").read_text())
    read = lambda name, kind, width: numpy.fromfile(folder / name, dtype=kind).reshape(-1, width)
    points = read("points.f32", "<f4", shape["dimensions"])
    queries = read("queries.f32", "<f4", shape["dimensions"])
    truth = read("truth.u32", "<u4", shape["neighbours"]).astype(numpy.int64)
    faiss.omp_set_num_threads(1)
    print("| index | settings | recall@10 | p50, µs | p99, µs |\n|---|---|---|---|---|")

    lists = max(len(points) // 400, 2)
    ivf = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], lists)
    ivf.train(points)
    ivf.add(points)
    for probes in (probes for probes in (2, 4, 16, 32, 64, 128) if probes <= lists):
        ivf.nprobe = probes
        row("FAISS IVFFlat", f"{lists} lists, {ivf.nprobe} probes", ivf, points, queries, truth)

    graph = kept_graph(folder / f"faiss-{len(points)}-{EDGES}-{WIDTH_OF_BUILDING}.graph", points)
    for width in (10, 20, 40, 80, 160, 320):
        graph.hnsw.efSearch = width
        row("FAISS HNSWFlat", f"{EDGES} edges, width {width}", graph, points, queries, truth)


if __name__ == "__main__":
    main()
