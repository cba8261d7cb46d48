"""Bundled problems: data sets of scikit-learn and synthetic circles, scaled and split like Proben1."""

import hashlib
import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pppca_bench.problems.problem import FloatArray, Problem

_LOADERS = {
    "iris": "load_iris",
    "wine": "load_wine",
    "wdbc": "load_breast_cancer",
    "digits": "load_digits",
}
_CENTRED, _ENCODED = "iris_centred", "iris_encoded"
_SPLIT_SEED = 1994
_N_ON_CIRCLE, _N_ON_CIRCLES, _RADIAL_NOISE = 400, 450, 0.05


def load_bundled(name: str) -> Problem:
    """Return a bundled problem: a data set of scikit-learn, the noisy circle or the three circles.

    The two choices do not apply to iris_centred and iris_encoded.

    Choice: each input is scaled to [0, 1] over the whole data set, not over the training split, as in the files of
    Proben1. Constant columns (digits has three) become 0.
    Choice: the samples are permuted at random, without strata, and then split, as in Proben1. The seed is 1994,
    the year of the Proben1 report. The generator is NumPy's RandomState, whose stream is frozen, so that
    NumPy versions give the same split.

    wdbc is the Wisconsin diagnostic breast cancer set. iris_centred and iris_encoded follow the notebook
    "Hebbian-Based Principal Component Analysis": all 150 samples of iris for training, in the original order, centred
    or mapped to [-1, 1]. ``sha256`` is the digest of the shapes and values of all arrays.
    """
    inputs, y, feature_names = _read("iris" if name in (_CENTRED, _ENCODED) else name)
    X, order, ends = scale_to_unit_interval(inputs), np.arange(len(y)), np.array([len(y), len(y)])
    # Rounded, so that the digest does not depend on the order of summation.
    if name == _CENTRED:
        X = np.round(inputs - inputs.mean(axis=0), 10)
    elif name == _ENCODED:
        X = np.round(2.0 * X - 1.0, 10)
    else:
        order = np.random.RandomState(_SPLIT_SEED).permutation(len(y))
        ends = np.cumsum(split_sizes(len(y))[:2])
    inputs_by_split, classes_by_split = np.split(X[order], ends), np.split(y[order], ends)
    splits = zip(inputs_by_split, classes_by_split, strict=True)
    return Problem.of_splits(
        inputs_by_split,
        classes_by_split,
        name=name,
        task="classification",
        n_classes=len(np.unique(y)),
        sha256=_sha256(itertools.chain(*splits)),
        feature_names=feature_names,
    )


def _read(name: str) -> tuple[FloatArray, NDArray[np.int64], tuple[str, ...]]:
    """Return unscaled inputs, classes, and the names of the inputs."""
    if name in _DRAWN:
        return (*_DRAWN[name](), ("x1", "x2"))
    from sklearn import datasets  # slow to import, not needed for Proben1

    data = getattr(datasets, _LOADERS[name])()
    return data.data, data.target.astype(np.int64), tuple(map(str, data.feature_names))


def draw_noisy_circle() -> tuple[FloatArray, NDArray[np.int64]]:
    """Draw 400 points near the unit circle, which no single principal component describes.

    Source: Bishop 1995, figures 8.10 and 8.11, which print no data. Choice: even angles, Gaussian noise of standard
    deviation 0.05 on the radius, and the quarters of the circle, 0 to 3, as classes, since problems need targets.
    """
    angles = np.arange(_N_ON_CIRCLE) / _N_ON_CIRCLE
    return _near_circles(angles, 1.0), np.floor(4.0 * angles).astype(np.int64)


def draw_three_circles() -> tuple[FloatArray, NDArray[np.int64]]:
    """Draw 150 points near each of three concentric circles, which no linear projection separates.

    Source: Marsland 2009, figure 6.10, which prints no data. Choice: radii 1, 3 and 5, angles and noise as in
    `draw_noisy_circle`. The class is the circle, 0 to 2, the smallest first.
    """
    circle = np.arange(_N_ON_CIRCLES) % 3
    radii: FloatArray = np.array([1.0, 3.0, 5.0])[circle]
    return _near_circles(np.arange(_N_ON_CIRCLES) / _N_ON_CIRCLES, radii), circle


_DRAWN = {"noisy_circle": draw_noisy_circle, "three_circles": draw_three_circles}


def _near_circles(turns: FloatArray, radii: FloatArray | float) -> FloatArray:
    """Return points at angles, in turns, with noisy distances from the origin, float64 (n_samples, 2)."""
    noise = np.random.RandomState(_SPLIT_SEED).standard_normal(len(turns))
    angles = 2.0 * np.pi * turns
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    points: FloatArray = (radii + _RADIAL_NOISE * noise)[:, np.newaxis] * directions
    # Rounded, so that the digest does not depend on the last digits of sine and cosine.
    return np.round(points, 6)


def split_sizes(n_samples: int) -> tuple[int, int, int]:
    """Return the sizes of training, validation and test set: 50, 25 and 25 percent, as Proben1 rounds them.

    Half and a quarter of the samples, each rounded half up, and the rest: 699 gives 350, 175 and 174.
    Choice: a quarter that ends in .25, which does not occur in Proben1, is rounded to the nearest integer.
    """
    n_train = (n_samples + 1) // 2
    n_validation = (n_samples + 2) // 4
    return n_train, n_validation, n_samples - n_train - n_validation


def scale_to_unit_interval(X: FloatArray) -> FloatArray:
    """Return finite X with each column's minimum moved to 0 and its maximum to 1; a constant column becomes 0."""
    low = X.min(axis=0)
    span = X.max(axis=0) - low
    scaled: FloatArray = (X - low) / np.where(span > 0, span, 1)
    return scaled


def _sha256(arrays: Iterable[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        # Little-endian on every machine, so that the digest only depends on the data.
        little = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{little.dtype.str}{little.shape}".encode() + little.tobytes())
    return digest.hexdigest()
