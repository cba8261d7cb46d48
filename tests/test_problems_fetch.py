"""Fetching and verifying, against a server of this process that fails in every way that servers do."""

import hashlib
import http.server
import itertools
import logging
import re
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from pppca_bench.errors import DataError
from pppca_bench.problems import FetchedFile, FileStatus, ProblemInfo, ensure, fetch, verify
from pppca_bench.problems import download as _download

GOOD = b"bool_in=0\nsome good content\n" * 50
OTHER = b"<!DOCTYPE html><title>Sign in</title>"
HINT = "With a local copy run `pppca data fetch --from DIR`; `pppca run demo` needs no download."


def info(name: str, folder: str, content: bytes) -> ProblemInfo:
    sha256 = hashlib.sha256(content).hexdigest()
    return ProblemInfo(name, "proben1", folder, "classification", 1, 2, 1, 1, 1, sha256, len(content))


@pytest.fixture(autouse=True)
def small_registry(monkeypatch) -> None:
    entries = [info("tiny1", "tiny", GOOD), info("tiny2", "tiny", GOOD * 2)]
    bundled = ProblemInfo("iris", "bundled", "", "classification", 4, 3, 75, 38, 37, "")
    registry = {entry.name: entry for entry in [*entries, bundled]}
    monkeypatch.setattr("pppca_bench.problems.registry.registered", lambda: registry)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("PPPCA_DATA_URL", raising=False)


@dataclass
class Server:
    """Answers that a path gets, one after another, the last one for ever; and the paths that were asked."""

    url: str
    answers: list[tuple[int, bytes, int | None]] = field(default_factory=lambda: [(200, GOOD, None)])
    asked: list[str] = field(default_factory=list)
    content_type: str = "application/octet-stream"
    bytes_at_once: int | None = None
    pause: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, body, length = site.answers.pop(0) if len(site.answers) > 1 else site.answers[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.send_header("Content-Type", site.content_type)
            self.end_headers()
            step = site.bytes_at_once or len(body) or 1
            with suppress(BrokenPipeError, ConnectionResetError):  # a client that gave up
                for start in range(0, len(body), step):
                    self.wfile.write(body[start : start + step])
                    self.wfile.flush()
                    if site.bytes_at_once:
                        site.pause.wait(0.01)

        def log_message(self, *args: object) -> None:
            del args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        site = Server(f"http://127.0.0.1:{httpd.server_port}")
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        httpd.shutdown()
        thread.join()


@pytest.fixture
def clock(monkeypatch) -> None:
    """Let ten seconds go by at each look at the time."""
    seconds = itertools.count(0, 10)
    monkeypatch.setattr(_download, "time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.fixture
def pauses(monkeypatch) -> list[int]:
    """Return what would have been waited between attempts."""
    made: list[int] = []
    monkeypatch.setattr(_download, "_pause", made.append)
    return made


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "target"


def everything_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestDownload:
    def test_a_file_comes_from_its_folder_and_is_proved(self, server, target):
        assert fetch(["tiny1"], target, base_url=f"{server.url}/") == [
            FetchedFile("tiny1", target / "tiny1.dt", "downloaded")
        ]
        assert server.asked == ["/tiny/tiny1.dt"]
        assert everything_in(target) == {"tiny1.dt": GOOD}

    def test_the_server_can_be_set_in_the_environment(self, server, target, monkeypatch):
        monkeypatch.setenv("PPPCA_DATA_URL", server.url)
        fetch(["tiny1"], target)
        assert server.asked == ["/tiny/tiny1.dt"]

    def test_all_of_proben1_is_fetched_by_default_and_nothing_bundled(self, server, target):
        server.answers = [(200, GOOD, None), (200, GOOD * 2, None)]
        assert [file.name for file in fetch(None, target, base_url=server.url)] == ["tiny1", "tiny2"]
        assert fetch(["iris"], target, base_url=server.url) == []

    def test_a_good_file_is_kept_without_asking(self, server, target):
        fetch(["tiny1"], target, base_url=server.url)
        again = fetch(["tiny1", "tiny1"], target, base_url=server.url)
        assert again == [FetchedFile("tiny1", target / "tiny1.dt", "kept")]
        assert len(server.asked) == 1

    def test_force_replaces_a_good_file(self, server, target):
        for _ in range(2):
            fetch(["tiny1"], target, base_url=server.url, force=True)
        assert len(server.asked) == 2

    def test_a_damaged_file_is_replaced(self, server, target):
        target.mkdir()
        (target / "tiny1.dt").write_bytes(OTHER)
        assert fetch(["tiny1"], target, base_url=server.url)[0].action == "downloaded"
        assert everything_in(target) == {"tiny1.dt": GOOD}

    def test_others_may_read_the_file(self, server, target):
        fetch(["tiny1"], target, base_url=server.url)
        assert stat.S_IMODE((target / "tiny1.dt").stat().st_mode) == 0o644

    @pytest.mark.parametrize("fault", [(500, b"", None), (429, b"", None), (200, OTHER, None), (200, b"cut", 1400)])
    def test_a_failure_that_may_pass_is_tried_again(self, server, target, pauses, fault):
        server.answers = [fault, fault, (200, GOOD, None)]
        fetch(["tiny1"], target, base_url=server.url)
        assert len(server.asked) == 3
        assert pauses == [1, 2]
        assert everything_in(target) == {"tiny1.dt": GOOD}

    @pytest.mark.parametrize("status", [401, 403, 404, 410])
    def test_an_answer_that_will_stay_is_not_asked_for_again(self, server, target, pauses, status):
        server.answers = [(status, b"", None), (200, GOOD, None)]
        failure(lambda: fetch(["tiny1"], target, base_url=server.url))
        assert (len(server.asked), pauses) == (1, [])

    def test_a_failure_that_stays_is_given_up(self, server, target, pauses):
        server.answers = [(503, b"", None)]
        message = failure(lambda: fetch(["tiny1"], target, base_url=server.url))
        assert "got the answer 503 Service Unavailable." in message
        assert (len(server.asked), pauses) == (3, [1, 2])

    @pytest.mark.usefixtures("clock")
    def test_a_slow_server_is_waited_for_as_long_as_it_sends_enough(self, server, target, monkeypatch):
        monkeypatch.setattr(_download, "_LEAST_BYTES", 50)
        server.bytes_at_once = 100
        assert fetch(["tiny1"], target, base_url=server.url, retries=0)[0].action == "downloaded"

    def test_nothing_is_printed_or_logged(self, server, target, capfd, caplog):
        fetch(["tiny1"], target, base_url=server.url)
        failure(lambda: fetch(["tiny2"], target, base_url=server.url, retries=0))
        assert capfd.readouterr() == ("", "")
        assert caplog.records == []

    def test_progress_tells_finished_and_total_from_the_start(self, server, target):
        calls = []
        fetch(["tiny1"], target, base_url=server.url, progress=lambda *counts: calls.append(counts))
        assert calls == [(0, 1), (1, 1)]

    def test_the_loggers_level_is_given_back(self, server, target):
        level = logging.getLogger("pooch").level
        fetch(["tiny1"], target, base_url=server.url)
        assert logging.getLogger("pooch").level == level


FAULTS = {
    "404": ((404, b"", None), "the answer 404 Not Found"),
    "500": ((500, b"", None), "the answer 500 Internal Server Error"),
    "another page": ((200, OTHER, None), "a file with another SHA-256"),
    "empty": ((200, b"", None), "a file with another SHA-256"),
    "wrong content of the right length": ((200, GOOD[::-1], None), "a file with another SHA-256"),
    "cut short": ((200, GOOD[:100], len(GOOD)), "IncompleteRead(100 bytes read, 1300 more expected)"),
}


class TestFailure:
    @pytest.mark.parametrize("fault", FAULTS)
    @pytest.mark.parametrize("before", [{}, {"tiny1.dt": OTHER}, {"tiny1.dt": GOOD}], ids=["none", "bad", "good"])
    def test_it_is_one_line_and_leaves_the_folder_as_it_was(self, server, target, fault, before):
        target.mkdir()
        for name, content in before.items():
            (target / name).write_bytes(content)
        answer, cause = FAULTS[fault]
        server.answers = [answer]
        message = failure(lambda: fetch(["tiny1"], target, base_url=server.url, force=True, retries=0))
        url = f"{server.url}/tiny/tiny1.dt"
        assert message == f"tiny1.dt from {url}: expected the registered file, got {cause}. {HINT}"
        assert everything_in(target) == before
        assert [path.name for path in target.iterdir()] == list(before)

    def test_no_server_is_a_refused_connection(self, target):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        message = failure(lambda: fetch(["tiny1"], target, base_url=f"http://127.0.0.1:{port}", retries=0))
        assert message.endswith(f"expected the registered file, got Connection refused. {HINT}")

    def test_a_silent_server_is_given_up(self, target, monkeypatch):
        monkeypatch.setattr(_download, "_TIMEOUT_S", 0.05)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            message = failure(lambda: fetch(["tiny1"], target, base_url=url, retries=0))
        assert message.endswith(f"expected the registered file, got timed out. {HINT}")

    @pytest.mark.usefixtures("clock")
    @pytest.mark.parametrize("before", [{}, {"tiny1.dt": OTHER}], ids=["none", "bad"])
    def test_a_server_that_trickles_is_given_up(self, server, target, before):
        server.bytes_at_once = 1
        target.mkdir()
        for name, content in before.items():
            (target / name).write_bytes(content)
        message = failure(lambda: fetch(["tiny1"], target, base_url=server.url, retries=0))
        server.pause.set()
        assert re.search(r"expected the registered file, got only \d+ bytes in 30 seconds\. With a local", message)
        assert everything_in(target) == before

    def test_a_web_page_is_told_as_such(self, server, target):
        server.content_type = "text/html; charset=utf-8"
        server.answers = [(200, OTHER, None)]
        message = failure(lambda: fetch(["tiny1"], target, base_url=server.url, retries=0))
        assert "got a web page, such as a network's sign-in. With a local copy" in message
        assert list(target.iterdir()) == []

    @pytest.mark.parametrize("url", ["gopher://127.0.0.1", "nonsense", "http://", "http://[::1", "http://\0/"])
    def test_a_wrong_address_is_one_line(self, target, url):
        assert HINT in failure(lambda: fetch(["tiny1"], target, base_url=url, retries=0))

    def test_what_came_before_the_failure_is_kept(self, server, target):
        server.answers = [(200, GOOD, None), (404, b"", None)]
        failure(lambda: fetch(["tiny1", "tiny2"], target, base_url=server.url, retries=0))
        assert everything_in(target) == {"tiny1.dt": GOOD}

    def test_an_interruption_leaves_nothing(self, server, target, monkeypatch):
        def interrupt(*_args: object, **_kwargs: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(_download, "_pieces", interrupt)
        with pytest.raises(KeyboardInterrupt):
            fetch(["tiny1"], target, base_url=server.url)
        assert list(target.iterdir()) == []

    def test_an_unknown_name_stops_everything_first(self, server, target):
        assert "Did you mean 'tiny1'?" in failure(lambda: fetch(["tiny1", "tinny1"], target))
        assert server.asked == []
        assert not target.exists()

    def test_a_place_that_is_no_folder_is_one_line(self, server, target):
        target.write_bytes(b"")
        message = failure(lambda: fetch(["tiny1"], target, base_url=server.url))
        assert message == (
            f"{target}: expected a folder to write to, got File exists. Give another one with --data DIR."
        )


class TestCopy:
    @pytest.mark.parametrize("folder", [".", "tiny"])
    def test_a_flat_copy_and_one_with_folders_both_serve(self, tmp_path, target, folder):
        (tmp_path / "copy" / folder).mkdir(parents=True)
        (tmp_path / "copy" / folder / "tiny1.dt").write_bytes(GOOD)
        assert fetch(["tiny1"], target, source_dir=tmp_path / "copy") == [
            FetchedFile("tiny1", target / "tiny1.dt", "copied")
        ]
        assert everything_in(target) == {"tiny1.dt": GOOD}

    def test_the_network_is_not_asked(self, tmp_path, server, target):
        (tmp_path / "tiny1.dt").write_bytes(GOOD)
        fetch(["tiny1"], target, source_dir=tmp_path, base_url=server.url)
        assert server.asked == []

    def test_a_damaged_copy_is_refused_and_leaves_what_was_there(self, tmp_path, target):
        target.mkdir()
        (target / "tiny1.dt").write_bytes(GOOD)
        (tmp_path / "tiny1.dt").write_bytes(OTHER)
        message = failure(lambda: fetch(["tiny1"], target, source_dir=tmp_path, force=True))
        expected, got = (hashlib.sha256(content).hexdigest() for content in (GOOD, OTHER))
        assert message.startswith(
            f"tiny1.dt in {tmp_path}: expected SHA-256 {expected}, got {got}. This copy is damaged: take the file"
        )
        assert everything_in(target) == {"tiny1.dt": GOOD}

    def test_a_copy_that_lacks_a_file_is_refused(self, tmp_path, target):
        message = failure(lambda: fetch(["tiny1"], target, source_dir=tmp_path / "none"))
        assert message.startswith(f"tiny1.dt in {tmp_path / 'none'}: expected a copy of the file, got none.")

    def test_a_folder_can_be_fetched_onto_itself(self, tmp_path):
        (tmp_path / "tiny1.dt").write_bytes(GOOD)
        fetch(["tiny1"], tmp_path, source_dir=tmp_path, force=True)
        assert everything_in(tmp_path) == {"tiny1.dt": GOOD}


class TestVerify:
    def test_each_file_is_ok_damaged_or_missing(self, tmp_path):
        (tmp_path / "tiny1.dt").write_bytes(GOOD)
        (tmp_path / "tiny2.dt").write_bytes(GOOD)
        assert verify(None, tmp_path) == [
            FileStatus("tiny1", tmp_path / "tiny1.dt", "ok"),
            FileStatus("tiny2", tmp_path / "tiny2.dt", "damaged"),
        ]
        assert [file.status for file in verify(["tiny2"], tmp_path / "none")] == ["missing"]
        assert [file.status for file in verify(["tiny2"], tmp_path / "tiny1.dt")] == ["missing"]

    def test_a_folder_in_a_files_place_is_one_line(self, tmp_path):
        (tmp_path / "tiny1.dt").mkdir()
        message = failure(lambda: verify(["tiny1"], tmp_path))
        assert message.startswith(f"tiny1.dt in {tmp_path}: expected a file that can be read and copied, got Is a dir")


class TestEnsure:
    def test_only_what_is_nowhere_is_downloaded_into_the_first_place(self, server, target, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PPPCA_DATA", str(tmp_path / "shared"))
        monkeypatch.setenv("PPPCA_DATA_URL", server.url)
        (tmp_path / "shared").mkdir()
        (tmp_path / "shared" / "tiny2.dt").write_bytes(GOOD * 2)
        assert ensure(["tiny2", "iris", "tiny1", "mine.dt"], target) == [
            FetchedFile("tiny1", target / "tiny1.dt", "downloaded")
        ]
        assert ensure(["tiny2", "tiny1"], target) == []
        assert server.asked == ["/tiny/tiny1.dt"]


@pytest.mark.data
def test_the_real_copy_is_whole(proben1_dir, monkeypatch):
    monkeypatch.undo()
    files = verify(None, proben1_dir)
    assert len(files) == 45
    assert {file.status for file in files} == {"ok"}
