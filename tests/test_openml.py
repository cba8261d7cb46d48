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


def arff(shift: float = 0.0) -> bytes:
    """Return iris as openml.org has it, with a gap in the first column."""
    iris = load_iris()
    rows = [
        ",".join([*(f"{value + shift:.1f}" for value in row), iris.target_names[y]])
        for row, y in zip(iris.data, iris.target, strict=True)
    ]
    rows[3] = f"?{rows[3][3:]}"
    names = ["sepallength", "sepalwidth", "petallength", "petalwidth"]
    head = [f"@ATTRIBUTE {name} REAL" for name in names]
    return "\n".join(
        ["@RELATION iris", *head, "@ATTRIBUTE class {setosa,versicolor,virginica}", "@DATA", *rows]
    ).encode()


class Server(ThreadingHTTPServer):
    """Answers as openml.org does for one data set."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.asked, self.is_down = arff(), [], False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> bytes | None:
        names = ["sepallength", "sepalwidth", "petallength", "petalwidth", "class"]
        features = [
            {
                "index": str(place),
                "name": name,
                "data_type": "nominal" if name == "class" else "numeric",
                "is_target": str(name == "class").lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "1" if place == 0 else "0",
            }
            for place, name in enumerate(names)
        ]
        description = {
            "id": NUMBER,
            "name": "iris",
            "version": "1",
            "format": "ARFF",
            "description": "Iris plants",
            "status": "active",
            "url": f"{self.url}/data/v1/download/61/iris.arff",
            "md5_checksum": hashlib.md5(self.content).hexdigest(),
        }
        qualities = [{"name": "NumberOfInstances", "value": "150"}]
        documents = {
            f"/api/v1/json/data/{NUMBER}": {"data_set_description": description},
            f"/api/v1/json/data/features/{NUMBER}": {"data_features": {"feature": features}},
            f"/api/v1/json/data/qualities/{NUMBER}": {"data_qualities": {"quality": qualities}},
        }
        if path in documents:
            return json.dumps(documents[path]).encode()
        return self.content if path.endswith("/iris.arff") else None


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        self.server.asked.append(self.path)
        body = None if self.server.is_down else self.server.answer(self.path)
        self.send_response(503 if self.server.is_down else 412 if body is None else 200)
        body = body or json.dumps({"error": {"code": "111", "message": "Unknown dataset"}}).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(isolated_folders, monkeypatch):  # noqa: ARG001 for its folders
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        for name in ("_DATA_INFO", "_DATA_FEATURES", "_DATA_QUALITIES"):
            known = getattr(_openml, name)
            # hosts differ by version
            monkeypatch.setattr(_openml, name, re.sub("https://[^/]*", server.url, known))
        monkeypatch.setattr("pppca_bench.problems.read_table._PAUSE_S", 1e-6)
        yield server
        server.shutdown()
        thread.join()


def test_a_data_set_is_fetched_once_with_its_types_and_its_target(server, tmp_path):
    source, problem = open_problem(OwnData("openml", NUMBER), tmp_path / "data")
    assert (source.name, problem.n_classes, problem.task) == ("openml:61", 3, "classification")
    assert problem.feature_names == (
        *("sepallength", "sepalwidth", "petallength", "petalwidth", "sepallength missing"),
    )
    assert (tmp_path / "data" / "openml" / "61.sha256").is_file()
    server.is_down = True
    n_asked = len(server.asked)
    again = load_source(source)
    assert len(server.asked) == n_asked
    np.testing.assert_array_equal(again.X_test, problem.X_test)


def test_changed_data_of_a_number_are_refused_until_the_record_is_deleted(server, tmp_path):
    own, folder = OwnData("openml", NUMBER), tmp_path / "data"
    first, _ = open_problem(own, folder)
    for path in sorted((folder / "openml").rglob("*.gz")):
        path.unlink()
    server.content = arff(shift=0.1)
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
    server.is_down = True
    with (
        pytest.warns(UserWarning, match="network error"),
        pytest.raises(DataError, match="got HTTP Error 503"),
    ):
        open_problem(OwnData("openml", NUMBER), tmp_path / "data")
    assert not list(tmp_path.rglob("*.sha256"))
