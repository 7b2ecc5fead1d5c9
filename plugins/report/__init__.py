"""report.html: the whole verdict and what it stands on, as one file.

Runs in the controlling process, or wherever a trial is judged again. The page is drawn here and not by a
script, so it can be read offline, with scripts switched off, in a mail preview and on paper.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fixtures.evidence.trial import Trial
from plugins.catalogue.reachable import beside
from plugins.catalogue.reachable import shown
from plugins.report import attached
from plugins.report import page
from plugins.report import text
from plugins.verdict_file import Verdict

if TYPE_CHECKING:
    import jinja2

_HERE = Path(__file__).parent


def render(verdict: Verdict, trial: Trial, pytest_html: str | None = None) -> str:
    """The report on `trial` as one HTML page.

    Args:
        pytest_html: the self-contained page that pytest-html wrote. Its table is put below the report where
            the page has the form that pytest-html 4 gives it; otherwise the report stands alone and says so.
    """
    from markupsafe import Markup  # late, as jinja2 is: only the report needs them, and they cost 40 ms

    table = attached.take(pytest_html) if pytest_html is not None else None
    template = _environment().get_template("report.html.j2")
    return template.render(
        page=page.build(verdict, trial),
        # the one thing that is markup already; the page's policy lets it run and load nothing else
        table_css=Markup(table.css) if table else "",
        table_body=Markup(table.body) if table else "",
        table_asked=pytest_html is not None,
        policy=attached.policy(table),
    )


def prepare() -> None:
    """Compile the templates ahead of `render`, which takes a fifth of a second of somebody's waiting."""
    for path in _HERE.glob("*.html.j2"):
        _environment().get_template(path.name)


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        # compiled once a process and never changed in it: optimizing costs more than it saves
        optimized=False,
        auto_reload=False,
    )
    environment.filters.update(
        cut=text.cut, size=text.size, memory=text.memory, seconds=text.seconds, moment=text.moment,
        oneline=text.oneline, shell=text.shell, plural=text.plural,
    )  # fmt: skip
    environment.globals.update(symbols=page.SYMBOLS, words=page.WORDS, beside=beside, rate=shown)
    return environment


def _finalize(value: object) -> object:
    """Every value on its way into the page, so that no template can forget it."""
    if value is None:
        return "—"
    if hasattr(value, "__html__"):
        return value
    return text.visible(text.cut(str(value), text.MOST))
