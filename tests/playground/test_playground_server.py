"""The page's server: its own files to this machine's browser, and nothing else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Barrier, Thread

import pytest
from helpers.processes import SOURCE, Capture, error_of, started

from exactfit.cli import main
from exactfit.exceptions import ParameterError
from exactfit.playground import PAGE, Playground, server


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    with Playground() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join(10)


def ask(playground: Playground, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", playground.server_address[1], timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def test_every_file_of_the_page_is_served_as_what_it_is(playground: Playground) -> None:
    files = [path for path in PAGE.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == set(server.KINDS)
    for path in files:
        status, headers, content = ask(playground, f"/{path.relative_to(PAGE).as_posix()}")
        assert (status, content) == (200, path.read_bytes())
        assert headers["Content-Type"] == server.KINDS[path.suffix]
        assert headers["Content-Security-Policy"] == "default-src 'self'"
    assert ask(playground, "/?from=somewhere")[2] == (PAGE / "index.html").read_bytes()


def test_head_has_no_content(playground: Playground) -> None:
    status, headers, content = ask(playground, "/", "HEAD")
    assert (status, content) == (200, b"")
    assert int(headers["Content-Length"]) == (PAGE / "index.html").stat().st_size


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/engine", "/engine/", "/.",
        "/index.html/", "/INDEX.HTML", "/engine/../index.html", "/server.py", "/\\index.html", "/index.html%00",
        "http://127.0.0.1/index.html", "/" + "a" * 5000,
    ],
)  # fmt: skip
def test_nothing_else_is_served(playground: Playground, path: str) -> None:
    status, headers, content = ask(playground, path)
    assert (status, content) == (404, b"no such file\n")
    assert headers["Content-Security-Policy"] == "default-src 'self'"


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "127.0.0.1:1", "", "[::1]"])
def test_a_request_under_another_name_is_refused(playground: Playground, host: str) -> None:
    assert ask(playground, "/", Host=host)[0] == 421


def test_localhost_is_this_machine_too(playground: Playground) -> None:
    assert ask(playground, "/", Host=f"localhost:{playground.server_address[1]}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_other_methods_are_refused(playground: Playground, method: str) -> None:
    status, headers, _ = ask(playground, "/", method)
    assert status == 501
    assert headers["Content-Security-Policy"] == "default-src 'self'"


def test_a_browser_that_goes_away_is_no_error(playground: Playground, capsys: Capture) -> None:
    for kind in (BrokenPipeError, ConnectionResetError, TimeoutError):
        try:
            raise kind
        except kind:
            playground.handle_error(None, ("127.0.0.1", 1))
    assert capsys.readouterr().err == ""
    try:
        raise KeyError("a bug")
    except KeyError:
        playground.handle_error(None, ("127.0.0.1", 1))
    assert "KeyError: 'a bug'" in capsys.readouterr().err


def test_it_listens_on_this_machine_only(playground: Playground) -> None:
    assert playground.server_address[0] == "127.0.0.1"
    assert playground.address == f"http://127.0.0.1:{playground.server_address[1]}/"


def test_a_port_that_is_taken_is_refused_with_a_remedy(playground: Playground) -> None:
    with pytest.raises(ParameterError, match="give another, or 0 for any"):
        Playground(playground.server_address[1])


def test_the_command_opens_the_browser_unless_told_not_to(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    opened: list[str] = []

    def interrupted(_: Playground) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(Playground, "serve_forever", interrupted)
    assert main(["playground"]) == 0
    (address,) = opened
    assert capsys.readouterr().out.splitlines() == [f"{address} (Ctrl-C ends it)", "ended"]
    assert main(["playground", "--no-browser"]) == 0
    assert len(opened) == 1


def test_a_port_that_cannot_be_is_refused(capsys: Capture) -> None:
    assert "--port" in error_of(["playground", "--port", "70000"], capsys, 2)


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent to a process by its number only on POSIX")
def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "exactfit", "playground", "--no-browser"]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    with started(command, env=environment, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.parametrize("repeat", range(4))
def test_fifty_clients_at_once_are_all_served_at_once(playground: Playground, repeat: int) -> None:
    start, answers = Barrier(50), list[int]()

    def client() -> None:
        start.wait()
        for _ in range(10):
            connection = HTTPConnection("127.0.0.1", playground.server_address[1], timeout=3)
            try:
                connection.request("GET", "/")
                answer = connection.getresponse()
                assert answer.read()
                answers.append(answer.status)
            finally:
                connection.close()

    clients = [Thread(target=client) for _ in range(50)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert answers == [200] * 500


def test_more_clients_may_wait_than_come_at_once() -> None:
    with Playground() as waiting:  # nobody accepts anything yet
        connections = []
        try:
            for _ in range(300):
                connections.append(socket.create_connection(("127.0.0.1", waiting.server_address[1]), timeout=3))
        finally:
            for connection in connections:
                connection.close()
