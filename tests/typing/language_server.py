"""A client of pyright's language server: what an editor shows where the mouse rests."""

# pyright: basic

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

LIMIT = 100.0
"""Seconds after which a server that does not answer is stopped."""


def hovers(path: Path, words: list[str], root: Path) -> list[str]:
    """What the server shows at the last place of each of these words in a file."""
    start = "from basedpyright.langserver import main; main()"
    command = [sys.executable, "-c", start, "--stdio"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=root, **pipes) as server:
        limit = threading.Timer(LIMIT, server.kill)
        limit.start()
        try:
            return list(_asked(server, path, words, root))
        finally:
            limit.cancel()
            server.kill()


def _asked(server: Any, path: Path, words: list[str], root: Path) -> Any:
    formats = {"textDocument": {"hover": {"contentFormat": ["plaintext"]}}}
    folders = [{"uri": root.as_uri(), "name": "root"}]
    given = {"processId": None, "capabilities": formats, "workspaceFolders": folders}
    _call(server, 0, "initialize", {**given, "rootUri": root.as_uri()})
    _send(server, {"method": "initialized", "params": {}})
    text = path.read_text("utf-8")
    document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
    _send(server, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
    for number, word in enumerate(words, 1):
        before = text[: text.rindex(word)]
        place = {"line": before.count("\n"), "character": len(before) - before.rfind("\n") - 1}
        asked = {"textDocument": {"uri": path.as_uri()}, "position": place}
        yield _call(server, number, "textDocument/hover", asked)["contents"]["value"]


def _call(server: Any, number: int, method: str, params: Any) -> Any:
    """The answer to a request; what the server asks meanwhile has no answer to speak of."""
    _send(server, {"id": number, "method": method, "params": params})
    while True:
        told = _received(server)
        if "method" not in told and told.get("id") == number:
            return told["result"]
        if "method" in told and "id" in told:
            several = told["method"] == "workspace/configuration"
            _send(server, {"id": told["id"], "result": [{}] if several else None})


def _send(server: Any, message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def _received(server: Any) -> Any:
    size = 0
    while line := server.stdout.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return json.loads(server.stdout.read(size))
