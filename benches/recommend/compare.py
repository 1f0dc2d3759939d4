"""Held-out errors of scikit-surprise's predictors, on the split that tailwater-recommend --split-to has written.

Prints a line for each: its name, RMSE and MAE. measure.py takes the same numbers. See README.md for the commands.
"""

import argparse
import csv
import math
import pathlib

from surprise import NMF, SVD, BaselineOnly, Dataset, KNNBaseline, Reader


def ratings(path):
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        return [(user, item, float(rating)) for user, item, rating in rows]


def errors(predictor, held_out):
    off = [predictor.predict(user, item).est - rating for user, item, rating in held_out]
    rmse = math.sqrt(sum(error * error for error in off) / len(off))
    return rmse, sum(abs(error) for error in off) / len(off)


def compare(folder, seed):
    """Yields each predictor's name, RMSE and MAE."""
    seen = ratings(folder / "seen.csv")
    held_out = ratings(folder / "held-out.csv")
    values = [rating for _, _, rating in seen]
    reader = Reader(rating_scale=(min(values), max(values)))
    # Every row needs a timestamp, which none of these predictors reads.
    rows = [(user, item, rating, None) for user, item, rating in seen]
    data = Dataset(reader=reader)
    data.raw_ratings = rows
    train = data.construct_trainset(rows)
    predictors = {
        "BaselineOnly": BaselineOnly(verbose=False),
        "NMF": NMF(random_state=seed),
        "NMF, biased": NMF(biased=True, random_state=seed),
        "SVD": SVD(random_state=seed),
        "KNNBaseline": KNNBaseline(verbose=False),
    }
    for name, predictor in predictors.items():
        predictor.fit(train)
        yield name, *errors(predictor, held_out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="holds seen.csv and held-out.csv")
    parser.add_argument("--seed", type=int, default=1, help="decides where factors begin")
    arguments = parser.parse_args()
    print(f"{'predictor':28}{'RMSE':>8}{'MAE':>8}")
    for name, rmse, mae in compare(arguments.folder, arguments.seed):
        print(f"{name:28}{rmse:8.4f}{mae:8.4f}")


if __name__ == "__main__":
    main()
