"""A server that behaves as each document says: `servers.py PORT LOG [MODE]`.

The first word of a document is a behaviour below, the second the category of a healthy answer. What was asked is
written to LOG, one JSON object a line. MODE is about the whole process: how it starts and how it ends.
Standard library only.
"""

import base64
import json
import os
import re
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

BEGUN = time.monotonic()
PORT, LOG = int(sys.argv[1]), sys.argv[2]
MODE = sys.argv[3] if len(sys.argv) > 3 else "healthy"
BEHAVIOURS = {}
TOGETHER = threading.Barrier(4)
LOCK = threading.Lock()
UNDER_WAY = [0]


def behaviour(function):
    BEHAVIOURS[function.__name__] = function
    return function


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        if MODE == "never_ready" or (MODE == "ready_late" and time.monotonic() - BEGUN < 0.6):
            self.answer(b"loading", status=503)
        elif MODE == "silent":
            time.sleep(60)
        else:
            self.answer(b"")

    def do_POST(self):
        with LOCK:
            UNDER_WAY[0] += 1
        body = self.rfile.read(int(self.headers["content-length"]))
        with LOCK, open(LOG, "a", encoding="utf-8") as log:
            seen = {
                "path": self.path,
                "headers": dict(self.headers),
                "body": body.decode("utf-8", "backslashreplace"),
            }
            log.write(json.dumps({**seen, "pid": os.getpid(), "under_way": UNDER_WAY[0]}) + "\n")
        word, category = document_in(self.path, body)
        try:
            BEHAVIOURS[word](self, category)
        finally:
            with LOCK:
                UNDER_WAY[0] -= 1

    def answer(self, body, status=200, kind="text/plain", **headers):
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, status=200, **headers):
        self.answer(json.dumps(value).encode(), status, "application/json", **headers)

    def chat(self, text, finish="stop"):
        message = {"role": "assistant", "content": text}
        self.json(
            {
                "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            }
        )

    def cut(self):
        """Close the connection as a process does that is gone."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def document_in(path, body):
    """The two words of the document, in whichever shape it was sent."""
    if path.endswith(("/completions", "/encoded")):
        body = json.loads(body)
    if path.endswith("/chat/completions"):
        body = body["messages"][-1]["content"]
    elif path.endswith("/completions"):
        body = body["prompt"]
    elif path.endswith("/encoded"):
        body = base64.b64decode(body["data"]).decode("latin-1")
    elif isinstance(body, bytes):
        body = body.decode("latin-1")
    return re.search(r"([a-z_]+) ([a-z_]+)", body).groups()


@behaviour
def healthy(handler, category):
    if handler.path.endswith("/chat/completions"):
        handler.chat(f" {category}\n")
    elif handler.path.endswith("/completions"):
        handler.json({"choices": [{"text": category, "finish_reason": "stop"}]})
    elif handler.path.endswith("/encoded"):
        handler.json(category)
    else:
        handler.answer(category.encode())


@behaviour
def together(handler, category):
    """Answers when four are under way."""
    TOGETHER.wait(20)
    healthy(handler, category)


@behaviour
def schema(handler, category):
    handler.chat(json.dumps({"category": category}))


@behaviour
def fails(handler, _):
    handler.json({"error": {"message": "CUDA out of memory", "type": "InternalServerError"}}, status=500)


@behaviour
def refuses(handler, _):
    handler.json({"detail": [{"loc": ["body", "text"], "msg": "too long", "input": "x" * 500}]}, status=422)


@behaviour
def full(handler, _):
    handler.json({"error": "Model is overloaded"}, status=429, retry_after="7")


@behaviour
def loading(handler, _):
    handler.json({"error": {"message": "Loading model"}}, status=503, retry_after="5")


@behaviour
def broken(handler, _):
    handler.answer(b"<html>Bad Gateway</html>", status=503)


@behaviour
def slow(handler, category):
    time.sleep(3)
    handler.chat(category)


@behaviour
def drips(handler, category):
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    for _ in range(60):
        handler.wfile.write(b" ")
        time.sleep(0.05)


@behaviour
def cuts(handler, _):
    handler.cut()


@behaviour
def breaks_off(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{")
    handler.cut()


@behaviour
def mumbles(handler, _):
    handler.wfile.write(b"invoice\r\n\r\n")
    handler.cut()


@behaviour
def floods(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 50000000\r\n\r\n" + b" " * 1000)
    time.sleep(3)


@behaviour
def pours(handler, _):
    """As much as it may before it is cut off, without having said how much."""
    handler.close_connection = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")
    for _ in range(64):
        handler.wfile.write(b" " * (1 << 20))


@behaviour
def redirects(handler, _):
    handler.answer(
        b"", status=307, location=f"http://localhost:{MODE.rpartition('=')[2]}/v1/chat/completions"
    )


@behaviour
def invents(handler, _):
    handler.chat("Sure! This is a letter\nof complaint." + " It is." * 80)


@behaviour
def pages(handler, _):
    handler.answer(b"<!doctype html><title>Welcome</title>", kind="text/html")


@behaviour
def stops_short(handler, _):
    handler.chat("The category of this docu", finish="length")


@behaviour
def thinks(handler, _):
    handler.chat(None, finish="length")


@behaviour
def dies(handler, _):
    os.kill(os.getpid(), signal.SIGKILL)


@behaviour
def exits(handler, _):
    os._exit(3)


@behaviour
def hangs(handler, _):
    time.sleep(60)


@behaviour
def ends_after(handler, category):
    """Answers, and takes no further question."""
    handler.server.socket.shutdown(socket.SHUT_RDWR)  # close alone waits for whoever polls it
    handler.close_connection = True
    healthy(handler, category)
    handler.connection.shutdown(socket.SHUT_RDWR)
    os._exit(5)


@behaviour
def answers_from_beyond(handler, category):
    """The process is over when its answer comes: a child has the connection, and waits for that."""
    parent = os.getpid()
    if os.fork():
        os._exit(5)
    while os.getppid() == parent:
        time.sleep(0.01)
    handler.close_connection = True
    healthy(handler, category)
    handler.connection.shutdown(socket.SHUT_RDWR)
    os._exit(0)


def main():
    if MODE == "dies_at_start":
        sys.exit("no such model")
    if MODE == "ignores_sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "starts_once":
        try:
            os.mkdir(LOG + ".started")
        except FileExistsError:
            sys.exit(4)
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
