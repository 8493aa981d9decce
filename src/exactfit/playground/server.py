"""A server for the page on this machine: its own files, to a browser on this machine, and nothing else."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..exceptions import ParameterError

PAGE = Path(__file__).parent / "page"
ADDRESS = "127.0.0.1"
# What browsers need to know a module or a style sheet by; files of no other kind are served.
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # another version of exactfit may serve the same address
}
IDLE = 10.0  # seconds that a connection may say nothing


def page_files() -> dict[str, Path]:
    """From what a browser asks for to the file that it gets: a closed list, so that no path leads elsewhere."""
    files = {
        f"/{path.relative_to(PAGE).as_posix()}": path
        for path in sorted(PAGE.rglob("*"))
        if path.is_file() and path.suffix in KINDS
    }
    return {"/": PAGE / "index.html", **files}


class _Handler(BaseHTTPRequestHandler):
    """GET and HEAD of the page's files; any other method is answered by 501, as the base class does."""

    protocol_version = "HTTP/1.1"
    server_version = "exactfit"
    sys_version = ""
    timeout = IDLE
    server: Playground

    def do_GET(self) -> None:
        """A file of the page, or an error."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without its content."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if self.headers.get("Host") not in self.server.hosts:
            # A page elsewhere may have its name point here: such a request carries that name.
            return self._send(HTTPStatus.MISDIRECTED_REQUEST, b"this server is for 127.0.0.1 only\n", "", with_body)
        path = self.server.files.get(self.path.partition("?")[0])
        if path is None:
            return self._send(HTTPStatus.NOT_FOUND, b"no such file\n", "", with_body)
        return self._send(HTTPStatus.OK, path.read_bytes(), KINDS[path.suffix], with_body)

    def _send(self, status: HTTPStatus, content: bytes, kind: str, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind or "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def end_headers(self) -> None:
        """With what every answer says, errors included."""
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing: the terminal belongs to the command."""


class Playground(ThreadingHTTPServer):
    """The page at an address of this machine; a context manager, as its base is.

    Parameters
    ----------
    port : int
        0 takes a free one.

    Examples
    --------
    >>> from threading import Thread
    >>> from urllib.request import urlopen
    >>> from exactfit.playground import Playground
    >>> with Playground() as playground:
    ...     Thread(target=playground.handle_request).start()
    ...     with urlopen(playground.address) as answer:
    ...         print(answer.status, answer.headers["Content-Security-Policy"])
    200 default-src 'self'
    """

    daemon_threads = True
    request_queue_size = 1024  # connections that wait to be accepted: beyond, clients try again after seconds

    def __init__(self, port: int = 0) -> None:
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise ParameterError(f"port {port} cannot be had ({error}): give another, or 0 for any") from error
        self.files = page_files()
        self.hosts = {f"{name}{tail}" for name in (ADDRESS, "localhost") for tail in ("", f":{self.server_address[1]}")}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away before it had everything: that is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"


def serve(port: int = 0, *, browser: bool = True, tell: Callable[[str], None] = print) -> None:
    """Serve the page until Ctrl-C, and open it in the browser.

    Parameters
    ----------
    port : int
        0 takes a free one.
    browser : bool
        Whether to open it.
    tell : callable
        Is told the address.

    Examples
    --------
    >>> from queue import Queue
    >>> from threading import Thread
    >>> from exactfit.playground import serve
    >>> told = Queue()
    >>> Thread(target=serve, kwargs={"browser": False, "tell": told.put}, daemon=True).start()
    >>> told.get(timeout=60)
    'http://127.0.0.1:.../ (Ctrl-C ends it)'
    """
    with Playground(port) as playground:
        try:
            tell(f"{playground.address} (Ctrl-C ends it)")
            if browser:
                webbrowser.open(playground.address)
            playground.serve_forever()
        except KeyboardInterrupt:
            tell("ended")
