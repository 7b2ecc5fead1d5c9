"""Writes the JSON Schema of verdict.json anew, after the model in plugins/verdict_file.py has changed.

python -m plugins.schema [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from plugins.schema import FILE
from plugins.schema import render

if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    target.write_text(render(), encoding="utf-8")
    print(target)
