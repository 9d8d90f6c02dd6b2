"""One self-contained HTML page for a recorded run or a backward graph; it needs no network."""

import json
import os
from importlib.resources import files
from typing import Any, Final

from wherry.inspect.backward_graph import Graph
from wherry.inspect.findings import Finding
from wherry.inspect.report.compact import graph_data, tape_data
from wherry.inspect.tape import Tape

# In the order in which the browser reads them.
_SCRIPTS: Final = (
    "vendor/dagre.min.js", "data.js", "card.js", "timeline.js", "memory.js", "graph.js", "stepping.js", "main.js",
)  # fmt: skip


def page(data: dict[str, Any], title: str) -> str:
    """The page with its data inside."""
    assets = files("wherry.inspect.report") / "assets"

    def read(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    # A closing tag inside the data would end the script element.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("</", "<\\/").replace("<!--", "<\\!--")
    shell = read("page.html")
    shell = shell.replace("/*STYLE*/", read("page.css"))
    shell = shell.replace("<!--SCRIPTS-->", "\n".join(f"<script>\n{read(name)}\n</script>" for name in _SCRIPTS))
    shell = shell.replace("<!--TITLE-->", title.replace("&", "&amp;").replace("<", "&lt;"))
    return shell.replace("<!--DATA-->", f'<script type="application/json" id="data">{text}</script>')


def report_page(tape: Tape, findings: list[Finding], title: str = "wherry report") -> str:
    """A recorded run as a page: timeline, backward graph, cards, memory, findings."""
    return page(tape_data(tape, findings), title)


def graph_page(graph: Graph, title: str = "backward graph") -> str:
    """A backward graph as a page."""
    return page(graph_data(graph), title)


def write_report(
    tape: Tape, findings: list[Finding], path: str | os.PathLike[str], title: str = "wherry report"
) -> None:
    """Write `report_page` to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(report_page(tape, findings, title))
