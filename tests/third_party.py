"""Third-party classes that `module` writes beside a config, and runs of them."""

import sys
from pathlib import Path

import pytest
import yaml
from command_line import printed

from pppca_bench.store import RESULTS

HALVES = "def half(X):\n    return X[:, :2].copy()\n"
MODULE = '''
import os
import random
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np

from {helper} import half

class Halves:
    """Two features, to a power and weighted.

    Parameters
    ----------
    power : float, default=1
        Exponent.
    weights : tuple of float
    """

    def __init__(self, power=1.0, weights=(1.0, 1.0), call=np.sum):
        self.power, self.weights, self.call = power, weights, call

    def fit(self, X, y):
        return self

    def transform(self, X):
        return np.abs(half(X)) ** self.power * np.asarray(self.weights)

class Buffer(Halves):
    memory = np.zeros((1000, 2))  # the same for every split

    def transform(self, X):
        self.memory[: len(X)] = super().transform(X)
        return self.memory[: len(X)]

class Negates(Halves):
    """Changes whatever it is given."""

    def fit(self, X, y):
        for array in (X, y):
            array.setflags(write=True)
            array *= -1
        return self

    def transform(self, X):
        made = super().transform(X)
        X.setflags(write=True)
        X *= -1
        return made

    def inverse_transform(self, X):
        X *= -1
        return np.repeat(X, 2, axis=1)

class Global(Halves):
    """Draws from the global generators."""

    def fit(self, X, y):
        self.shift = random.random()
        return self

    def transform(self, X):
        return super().transform(X) + np.random.rand(len(X), 2) + self.shift

class Leaves(Halves):
    """Leaves a thread and a process, which hold this process and its output, and never end."""

    def fit(self, X, y):
        threading.Thread(target=threading.Event().wait, daemon=False).start()
        subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
        return self

class Daemon(Halves):
    """Leaves a process of a session of its own, as servers do, and its number."""

    def fit(self, X, y):
        if len(X) > 30:
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            self.measures_ = {{"left": child.pid}}
        return self

class Stops(Halves):
    """Stops its process, as the system does that with a process of the background that asks for an answer."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGTTOU)
        return self

class Halts(Halves):
    """Stops its process, which no other can notice but by its silence."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGSTOP)
        return self

class Prints(Halves):
    def fit(self, X, y):
        print("printed by Python")
        os.system("echo printed by another program")
        return self

class Process(Halves):
    """Measures the number of its process, and how often it was fitted there."""

    def fit(self, X, y):
        Halves.n_fits = getattr(Halves, "n_fits", 0) + 1
        self.measures_ = {{"process": os.getpid(), "n_fits": Halves.n_fits}}
        return self

class Other(Process):
    pass

class Drawn(Halves):
    def __init__(self, scale: float = 0.1, random_state=None):
        super().__init__()
        self.scale, self.random_state = scale, random_state

class Noisy(Halves):
    def transform(self, X):
        if len(X) < 30:
            warnings.warn("few samples")
            print("few samples")
        return super().transform(X)

class Guess:
    """Predicts at random, and changes its argument."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        X *= -1
        return np.random.randint(0, 3, len(X))

class Picky(Guess):
    def fit(self, X, y):
        if len(X) < 30:
            raise TypeError("too few")

    def predict(self, X):
        return np.zeros(len(X))

class Later(Halves):
    def fit(self, X, y):
        import {lazy}

        return self

class Nothing:
    pass

class Mapped:
    def fit_transform(self, X):
        return X

    def fit(self, X):
        return self
'''
CULPRIT = """

class {name}(Halves):
    measures_ = {{}}

    def fit(self, X, y):
        if len(X) > 60:
            {fit}
        return self

    def transform(self, X):
        {transform}
"""

CULPRITS = yaml.safe_load(Path(__file__).with_name("culprits.yaml").read_text(encoding="utf-8"))
"""Line of the fit, or of transform if it returns, and cause of the failure, by name of the class."""

OTHERS = {
    "Boom": 'raise RuntimeError("boom\\nsecond line")',
    "Interrupts": "raise KeyboardInterrupt",
    "Plain": "pass",
}

CONFIG = """\
name: own
problems: {problems}
repeats: 2
seed: 1
methods: [{methods}]
classifier: {classifier}
"""
NAIVE_BAYES = "sklearn.naive_bayes:GaussianNB"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Write modules beside the config, under names that no other test has imported; return the name of the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PPPCA_DATA", raising=False)
    name = f"third_{tmp_path.name}"
    text = MODULE.format(helper=f"{name}_helper", lazy=f"{name}_lazy")
    lines = {culprit: line for culprit, (line, _) in CULPRITS.items()} | OTHERS
    for culprit, line in lines.items():
        fit, transform = ("pass", line) if line.startswith("return") else (line, "return half(X)")
        text += CULPRIT.format(name=culprit, fit=fit, transform=transform)
    texts = {name: text, f"{name}_helper": HALVES, f"{name}_lazy": "SHIFT = 1.0\n"}
    for own, source in texts.items():
        Path(f"{own}.py").write_text(source)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield name
    for own in texts:
        sys.modules.pop(own, None)


def write_own(
    *methods: str, classifier: str = f'"{NAIVE_BAYES}"', more: str = "", problems: str = "[iris]"
) -> Path:
    """Write a config of methods, and return its path."""
    text = CONFIG.format(methods=", ".join(methods), classifier=classifier, problems=problems)
    Path("own.yaml").write_text(text + more)
    return Path("own.yaml")


def run_own(
    *methods: str, classifier: str = f'"{NAIVE_BAYES}"', results: str = RESULTS, code: int = 0
) -> str:
    """Run methods on iris, and return the output."""
    path = write_own(*methods, classifier=classifier)
    return printed(
        "run", path, "--workers", "0", "--results", results, "--quiet", "--no-tables", code=code
    )
