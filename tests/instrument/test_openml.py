"""Data sets of openml.org, from a local server: download, cache, and changed data."""

import hashlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from sklearn.datasets import _openml, load_iris

from pppca_bench.errors import DataError
from pppca_bench.problems import OwnData, load_source, open_problem

NUMBER = "61"


NAMES = ["sepallength", "sepalwidth", "petallength", "petalwidth", "class"]


def arff(shift: float = 0.0) -> bytes:
    """Return iris as openml.org has it, with a gap in the first column."""
    iris = load_iris()
    rows = [
        [*(f"{value + shift:.1f}" for value in row), iris.target_names[y]]
        for row, y in zip(iris.data, iris.target, strict=True)
    ]
    rows[3][0] = "?"
    head = [f"@ATTRIBUTE {name} REAL" for name in NAMES[:4]]
    head += ["@ATTRIBUTE class {setosa,versicolor,virginica}", "@DATA"]
    return "\n".join(["@RELATION iris", *head, *map(",".join, rows)]).encode()


def feature(index: int, name: str) -> dict[str, str]:
    """Return what openml.org says about a column."""
    is_class = name == "class"
    about = {"index": str(index), "name": name, "data_type": "nominal" if is_class else "numeric"}
    about |= {"is_target": str(is_class).lower(), "is_ignore": "false"}
    gaps = {"number_of_missing_values": "1" if index == 0 else "0"}
    return about | gaps | {"is_row_identifier": "false"}


class Server(ThreadingHTTPServer):
    """Answers as openml.org does for one data set."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url, self.asked = f"http://127.0.0.1:{self.server_port}", []
        self.put(arff())

    def put(self, content: bytes) -> None:
        place = "/data/v1/download/61/iris.arff"
        about = {"id": NUMBER, "name": "iris", "version": "1", "format": "ARFF", "status": "active"}
        about |= {"description": "Iris plants", "url": f"{self.url}{place}"}
        about["md5_checksum"] = hashlib.md5(content).hexdigest()
        qualities = [{"name": "NumberOfInstances", "value": "150"}]
        documents = {
            NUMBER: {"data_set_description": about},
            f"features/{NUMBER}": {"data_features": {"feature": [*map(feature, range(5), NAMES)]}},
            f"qualities/{NUMBER}": {"data_qualities": {"quality": qualities}},
        }
        answers = {f"/api/v1/json/data/{key}": json.dumps(documents[key]) for key in documents}
        self.files = {path: text.encode() for path, text in answers.items()} | {place: content}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        self.send_response(412 if body is None else 200)
        body = body or json.dumps({"error": {"code": "111", "message": "Unknown dataset"}}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(isolated_folders, monkeypatch):  # noqa: ARG001 for its folders
    with Server() as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        for name in ("_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            known = getattr(_openml, name)
            # hosts differ by version
            monkeypatch.setattr(_openml, name, re.sub("https://[^/]*", server.url, known))
        monkeypatch.setattr("pppca_bench.problems.data_sets._PAUSE_S", 1e-6)
        yield server
        server.shutdown()


def test_a_data_set_is_fetched_once_with_its_types_and_its_target(server, tmp_path):
    source, problem = open_problem(OwnData("openml", NUMBER), tmp_path / "data")
    assert (source.name, problem.n_classes, problem.task) == ("openml:61", 3, "classification")
    assert problem.feature_names == (
        *("sepallength", "sepalwidth", "petallength", "petalwidth", "sepallength missing"),
    )
    assert (tmp_path / "data" / "openml" / "61.sha256").is_file()
    server.asked.clear()
    again = load_source(source)
    assert server.asked == []
    np.testing.assert_array_equal(again.X_test, problem.X_test)


def test_changed_data_of_a_number_are_refused_until_the_record_is_deleted(server, tmp_path):
    own, folder = OwnData("openml", NUMBER), tmp_path / "data"
    first, _ = open_problem(own, folder)
    for path in sorted((folder / "openml").rglob("*.gz")):
        path.unlink()
    server.put(arff(shift=0.1))
    said = r"^openml:61: expected the data of the first download .* Delete that file"
    with pytest.raises(DataError, match=said):
        open_problem(own, folder)
    (folder / "openml" / "61.sha256").unlink()
    assert open_problem(own, folder)[0].sha256 != first.sha256


def test_nothing_is_downloaded_for_a_plan_alone(server, tmp_path):
    said = r"^openml:61: expected its files in the data folder, got none\. Run `pppca data"
    with pytest.raises(DataError, match=said):
        open_problem(OwnData("openml", NUMBER), tmp_path / "data", only_local=True)
    assert server.asked == []
    assert not (tmp_path / "data").exists()


def test_a_failing_server_and_an_unknown_number_are_refused(server, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)  # between the attempts of scikit-learn
    said = r"^openml:9: expected a data set of www\.openml\.org, got [^\n]*\. Check the num"
    with pytest.raises(DataError, match=said):
        open_problem(OwnData("openml", "9"), tmp_path / "data")
    server.shutdown()
    server.server_close()
    refused = pytest.raises(DataError, match=r"got <urlopen error .* refused>")
    with pytest.warns(UserWarning, match="network error"), refused:
        open_problem(OwnData("openml", NUMBER), tmp_path / "data")
    assert not list(tmp_path.rglob("*.sha256"))


@pytest.mark.filterwarnings("ignore:Invalid cache")  # scikit-learn loads the file again
def test_nominal_attributes_of_numbers_are_categories_to_the_letter(server, tmp_path):
    content = arff().replace(b"{setosa,versicolor,virginica}", b"{1,2,10}")
    for name, label in ((b"setosa", b"1"), (b"versicolor", b"10"), (b"virginica", b"2")):
        content = content.replace(name, label)
    server.put(content)
    problem = open_problem(OwnData("openml", NUMBER), tmp_path / "data")[1]
    assert problem.classes == ("1", "2", "10")
