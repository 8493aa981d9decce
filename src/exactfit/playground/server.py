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
# Browsers take modules and style sheets by these types only; files of no other kind are served.
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


class _Handler(BaseHTTPRequestHandler):
    """GET and HEAD of the page's files; any other method is answered by 501, as the base class does."""

    protocol_version = "HTTP/1.1"
    server_version = "exactfit"
    sys_version = ""
    timeout = IDLE
    server: Playground

    def do_GET(self) -> None:
        """Send a file of the page, or an error."""
        path = self.server.files.get(self.path.partition("?")[0])
        status, kind = HTTPStatus.OK, "text/plain; charset=utf-8"
        if self.headers.get("Host") not in self.server.hosts:
            # A page elsewhere may have its name point here: such a request carries that name.
            status, content = HTTPStatus.MISDIRECTED_REQUEST, b"this server is for 127.0.0.1 only\n"
        elif path is None:
            status, content = HTTPStatus.NOT_FOUND, b"no such file\n"
        else:
            content, kind = path.read_bytes(), KINDS[path.suffix]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815  (the same without its content, by the name that http.server asks for)

    def end_headers(self) -> None:
        """Add the headers of every answer, errors included."""
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
        # A closed list, from paths that a browser asks for to files, so that no path leads elsewhere.
        found = (path for path in PAGE.rglob("*") if path.is_file() and path.suffix in KINDS)
        self.files = {f"/{path.relative_to(PAGE).as_posix()}": path for path in found} | {"/": PAGE / "index.html"}
        self.hosts = {f"{name}{tail}" for name in (ADDRESS, "localhost") for tail in ("", f":{self.server_address[1]}")}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away before it had everything: that is no error of ours."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """URL of the page."""
        return f"http://{ADDRESS}:{self.server_address[1]}/"


def serve(port: int = 0, *, browser: bool = True, log: Callable[[str], None] = print) -> None:
    """Serve the page until Ctrl-C, and open it in the browser.

    Parameters
    ----------
    port : int
        0 takes a free one.
    browser : bool
        Whether to open it.
    log : callable
        Called with the address.

    Examples
    --------
    >>> from queue import Queue
    >>> from threading import Thread
    >>> from exactfit.playground import serve
    >>> messages = Queue()
    >>> Thread(target=serve, kwargs={"browser": False, "log": messages.put}, daemon=True).start()
    >>> messages.get(timeout=60)
    'http://127.0.0.1:.../ (Ctrl-C ends it)'
    """
    with Playground(port) as playground:
        try:
            log(f"{playground.address} (Ctrl-C ends it)")
            if browser:
                webbrowser.open(playground.address)
            playground.serve_forever()
        except KeyboardInterrupt:
            log("ended")
