"""Writes the JSON Schemas anew, after a model in plugins/verdict_file.py or plugins/decision/file.py has changed.

python -m plugins.schema [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from plugins.schema import FILE
from plugins.schema import NAMES
from plugins.schema import render

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE.parent
    for name in NAMES:
        (folder / name).write_text(render(name), encoding="utf-8")
        print(folder / name)
