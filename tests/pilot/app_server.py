"""A server for the `server` kind: `app_server.py BEHAVIOUR PORT`. Speaks OpenAI's chat completions and plain POST.

Standard library only. A document is known by the number in its text, as for app.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer

CATEGORIES = ["invoice", "contract", "support_ticket", "resume", "medical_report"]
BEHAVIOUR = sys.argv[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(503 if BEHAVIOUR == "never_ready" else 200, b"")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode("utf-8", "replace")
        found = re.search(r"Document (\d+)\.", body)
        number = int(found[1]) if found else 0
        if number == 5 and BEHAVIOUR in FAULTS:
            FAULTS[BEHAVIOUR](self)
        elif not found:
            self.json({"error": {"message": "the document is no text"}}, 422)
        else:
            self.chat(CATEGORIES[number % 5])

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, status=200):
        self.answer(status, json.dumps(value).encode())

    def chat(self, text):
        self.json({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})


def cut(handler):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")
    handler.connection.close()


FAULTS = {
    "fails": lambda handler: handler.json({"error": {"message": "CUDA out of memory"}}, 500),
    "refuses": lambda handler: handler.json(
        {"error": {"message": "longer than the context of 2048 tokens"}}, 400
    ),
    "dies": lambda handler: os.kill(os.getpid(), signal.SIGKILL),
    "is_slow": lambda handler: time.sleep(30),
    "cuts": cut,
    "mumbles": lambda handler: handler.chat("I think that this is an invoice."),
}

if __name__ == "__main__":
    if BEHAVIOUR == "leaves_a_child":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
    if BEHAVIOUR == "writes_beside":
        open(sys.argv[3], "x").close()
    if BEHAVIOUR == "dies_at_start":
        sys.exit("error: no free memory on the card")
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
