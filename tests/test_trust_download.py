"""Downloads from a server that means no good, or that is killed half-way: no disk is filled, no secret is told."""

import gzip
import hashlib
import http.server
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pppca_bench.errors import DataError
from pppca_bench.problems import ProblemInfo, fetch
from pppca_bench.problems.registry import proben1_infos
from pppca_bench.processes import this_process

GOOD = b"bool_in=0\nsome good content\n" * 50
POSIX = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """Serve an answer to every request, and give the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(BrokenPipeError, ConnectionResetError):  # a client that has enough
                answer(self)

        def log_message(self, *args: object) -> None:
            del args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_port}"
        finally:
            httpd.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def tiny_registry(monkeypatch) -> None:
    tiny = ProblemInfo(
        "tiny1", "proben1", "tiny", "classification", 1, 2, 1, 1, 1, hashlib.sha256(GOOD).hexdigest(), len(GOOD)
    )
    monkeypatch.setattr("pppca_bench.problems.registry.registered", lambda: {"tiny1": tiny})
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def refusal(url: str, target: Path) -> str:
    with pytest.raises(DataError) as caught:
        fetch(["tiny1"], target, base_url=url, retries=0)
    assert caught.value.__cause__ is None
    assert list(target.iterdir()) == []
    return str(caught.value)


def send(handler: http.server.BaseHTTPRequestHandler, *bodies: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    for body in bodies:
        handler.wfile.write(body)


class Endless:
    """Send without end, until the client goes; remember how much, and stop where nobody would ever stop it."""

    def __init__(self, status: int = 200, limit: int = 64_000_000, **headers: str) -> None:
        self.status, self.limit, self.headers = status, limit, headers
        self.n_sent = 0

    def __call__(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        send(handler, status=self.status, **self.headers)
        while self.n_sent < self.limit:
            self.n_sent += handler.wfile.write(b"0" * 65_536)


def test_trust_a_download_stops_at_the_registered_size(tmp_path):
    endless = Endless()
    with serving(endless) as url:
        assert f"got more than its {len(GOOD)} bytes. With a local copy" in refusal(url, tmp_path / "target")
    assert endless.n_sent < endless.limit


def test_trust_what_comes_with_a_redirection_is_not_read(tmp_path):
    endless = Endless(302, Location="/elsewhere")

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        send(handler, GOOD) if handler.path == "/elsewhere" else endless(handler)

    with serving(answer) as url:
        fetch(["tiny1"], tmp_path, base_url=url, retries=0)
    assert (tmp_path / "tiny1.dt").read_bytes() == GOOD
    assert endless.n_sent < endless.limit


def test_trust_every_file_of_proben1_has_its_size_registered(monkeypatch, proben1_dir):
    monkeypatch.undo()
    infos = proben1_infos()
    assert len(infos) == 45
    assert {info.name: info.n_bytes for info in infos} == {
        info.name: (proben1_dir / info.filename).stat().st_size for info in infos
    }


def test_trust_a_content_encoding_is_refused_and_not_asked_for(tmp_path):
    asked = []

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        asked.append(handler.headers["Accept-Encoding"])
        send(handler, gzip.compress(GOOD), Content_Encoding="gzip")

    with serving(answer) as url:
        said = refusal(url, tmp_path / "target")
    assert "got the content encoding gzip, which was not asked for." in said
    assert asked == ["identity"]


@pytest.mark.parametrize(
    ("login", "shown"), [("me:secret@", "***@"), ("me:se/cr@et@", "***@"), ("secret@", "***@"), ("", "")]
)
def test_trust_no_credential_of_an_address_is_told(tmp_path, login, shown):
    with serving(lambda handler: send(handler, status=404)) as url:
        said = refusal(url.replace("//", f"//{login}"), tmp_path / "target")
        plain = url.removeprefix("http://")
    assert said.startswith(f"tiny1.dt from http://{shown}{plain}/tiny/tiny1.dt: expected")
    assert not any(secret in said for secret in ("secret", "se/cr", "cr@et", "me:"))


def test_trust_an_at_sign_in_a_path_is_no_credential(tmp_path):
    with serving(lambda handler: send(handler, status=404)) as url:
        assert f"from {url}/proben1@v1/tiny/tiny1.dt: " in refusal(f"{url}/proben1@v1", tmp_path / "target")


def test_trust_control_characters_of_a_server_are_shown_as_codes(tmp_path):
    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 404 \x1b]0;mine\x07 \x9b31m red\r\n\r\n")

    with serving(answer) as url:
        assert r"got the answer 404 \x1b]0;mine\x07 \x9b31m red. With" in refusal(url, tmp_path / "target")


@POSIX
def test_trust_a_terminated_fetch_leaves_nothing_and_the_next_sweeps_after_a_killed_one(tmp_path):
    begun, over = threading.Event(), threading.Event()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        send(handler, b"bool_in=9\n", Content_Length="1000")
        begun.set()
        over.wait(60)

    def stopped_by(number: int) -> int:
        begun.clear()
        command = [sys.executable, "-m", "pppca_bench", "data", "fetch", "cancer1", "--data", str(tmp_path / "data")]
        environment = {**os.environ, "PPPCA_DATA_URL": url}
        running = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert begun.wait(60)
        running.send_signal(number)
        said = running.communicate(timeout=60)[1]
        assert "Traceback" not in said
        return running.returncode

    with serving(answer) as url:
        assert stopped_by(signal.SIGTERM) == 143
        assert list((tmp_path / "data").iterdir()) == []
        assert stopped_by(signal.SIGKILL) == -9
        (left,) = (tmp_path / "data").iterdir()
        of_a_living_process = tmp_path / "data" / f".pppca-{this_process()}-abc"
        of_a_living_process.mkdir()
        assert stopped_by(signal.SIGTERM) == 143
        assert list((tmp_path / "data").iterdir()) == [of_a_living_process]
        assert left != of_a_living_process
        over.set()
