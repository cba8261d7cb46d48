"""The outputs of the commands on pinned databases, and the runs of all shipped configs, are as pinned.

See tests/paper/guard.py for the commands that write the outputs to compare them, and that pin them again.
"""

import json

import pytest
from golden_numbers import installed_versions, pinned_versions
from guard import LIBRARIES, PINNED, outputs, planned_runs

GUARD = "PYTHONPATH=tests python tests/paper/guard.py"
AGAIN = f"Pin a wanted change with `{GUARD} pin`"
COMPARE = (
    f"To read the changes: `{GUARD} write build/after`, the same into build/before with the old code, and"
    f" `diff -r build/before build/after`. {AGAIN}."
)


@pytest.fixture(scope="module")
def pinned() -> dict:
    return json.loads(PINNED.read_text(encoding="utf-8"))


def differing(expected: dict, got: dict) -> list[str]:
    return sorted(name for name in expected | got if expected.get(name) != got.get(name))


@pytest.mark.slow
def test_every_output_is_as_pinned(pinned, tmp_path):
    if installed_versions(LIBRARIES) != pinned_versions(LIBRARIES):
        pytest.skip("the last digits and the lines of figures are those of the pinned libraries")
    names = differing(pinned["outputs"], outputs(tmp_path))
    assert not names, f"{len(names)} outputs differ: {', '.join(names)}. {COMPARE}"


def test_the_runs_of_every_shipped_config_are_as_pinned(pinned):
    got = planned_runs()
    if installed_versions(("scikit-learn",)) != pinned_versions(("scikit-learn",)):
        # keys have the version of its IncrementalPCA
        del (pinned["runs"]["streaming.yaml"], got["streaming.yaml"])
    names = differing(pinned["runs"], got)
    assert not names, (
        f"keys or seeds differ in {', '.join(names)}: results would be computed again. {AGAIN}."
    )
