"""The result that docs/recommend.md draws its table from: every predictor on three splits of MovieLens and of generated
ratings. Prints it as JSON. See README.md for the command.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
from importlib.metadata import version

from compare import compare

SEEDS = (1, 2, 3)


def split(program, source, seed):
    """Our predictors and the others' on one split."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, *source, "--seed", str(seed), "--split-to", folder, "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        ours = json.loads(done.stdout)
        others = [
            {"predictor": name, "rmse": rmse, "mae": mae}
            for name, rmse, mae in compare(pathlib.Path(folder), seed)
        ]
    return ours, {
        "seed": seed,
        "held_out": ours["held_out"],
        "ours": ours["predictors"],
        "scikit_surprise": others,
    }


def measured(program, name, source):
    splits = [split(program, source, seed) for seed in SEEDS]
    # Generated ratings are others with each seed: their sizes are those of the first.
    sizes = {key: splits[0][0][key] for key in ("ratings", "users", "items")}
    settings = ("rank", "sweeps", "regularisation", "neighbours", "similarity", "slices")
    said = {key: splits[0][0][key] for key in settings}
    return {"set": name, **sizes, "settings": said, "splits": [one for _, one in splits]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("movielens", type=pathlib.Path, help="the ratings of MovieLens, user,item,rating in each line")
    parser.add_argument("--program", default="target/release/tailwater-recommend", help="where it was built")
    arguments = parser.parse_args()
    sets = [
        measured(arguments.program, "MovieLens", ["--from", str(arguments.movielens)]),
        measured(arguments.program, "generated", []),
    ]
    result = {"scikit_surprise": version("scikit-surprise"), "numpy": version("numpy"), "sets": sets}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
