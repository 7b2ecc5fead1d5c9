"""The embedded classifier behind an OpenAI-compatible server: `classifier_server.py PORT DEVICE`.

Run by the interpreter that has torch. It speaks chat completions as vLLM does, constrained to a JSON schema where
the question asks for one, and serves when the model is on the device.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fixtures.classifier import oracle
from fixtures.classifier.device import open_device
from fixtures.classifier.model import DEFAULT
from fixtures.classifier.model import load


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    classify: Any

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = body["messages"][-1]["content"]
        if not asked.strip():
            self._send(
                400, {"error": {"message": "an empty message", "type": "BadRequestError", "code": 400}}
            )
            return
        said = self.classify(asked)
        if "response_format" in body:
            (key,) = body["response_format"]["json_schema"]["schema"]["required"]
            said = json.dumps({key: said})
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send(200, {"object": "chat.completion", "model": body["model"], "choices": [choice]})

    def _send(self, status: int, value: dict[str, Any]) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main() -> None:
    port, device = int(sys.argv[1]), open_device(sys.argv[2])
    import torch

    from fixtures.classifier.scoring import Scorer

    torch.set_num_threads(1)
    model = load(DEFAULT)
    scorer, one_at_a_time = Scorer(model, device), threading.Lock()

    def classify(text: str) -> str:
        with one_at_a_time:
            (row,) = scorer.scores([text]).tolist()
        return model.categories[oracle.decide(row)[0]]

    Handler.classify = staticmethod(classify)
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
