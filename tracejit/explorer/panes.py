"""Panes: the user's code and the functions of a module as HTML, line beside line.

A line carries the numbers of its statements as `data-s`, a part of it that of its expression as
`data-e`: what has the same numbers belongs together, in all panes and in the drawing of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple

from tracejit.explorer.folding import folded
from tracejit.explorer.highlight import Span, escaped, highlighted, split_at_lines
from tracejit.explorer.provenance import Piece, Provenance, functions_of, provenance_of
from tracejit.explorer.quantities import bytes_text, seconds_text
from tracejit.explorer.user_code import CodeLine, Files, Listing, Numbers, listings_of

# In longer modules the statement of each line is shown, and no part of a line.
MOST_LINES = 5000


class Cost(NamedTuple):
    """The seconds, the bytes and the calls that a profile counts for a line."""

    seconds: float
    bytes: int
    calls: int

    def __add__(self, other: Any) -> Cost:
        return Cost(
            self.seconds + other.seconds, self.bytes + other.bytes, max(self.calls, other.calls)
        )


class Pane(NamedTuple):
    """A pane: its heading, its lines as HTML, and their number; the seconds that a profile counts
    for them, if it counts any."""

    title: str
    html: str
    lines: int
    seconds: float | None = None

    @property
    def styles(self) -> str:
        """The classes of the element around its lines."""
        return "rows" if self.seconds is None else "rows costs"


class Code(NamedTuple):
    """The code of one kernel: panes of the user's, of its functions by name, and of the lines
    before these; the numbers of places, and whether expressions are known besides statements."""

    user: list[Pane]
    functions: dict[str, Pane]
    head: Pane
    numbers: Numbers
    exact: bool
    origins: Mapping[int, int]


def code_of(kernel: Any, root: CodeType | None, profile: Any = None) -> Code:
    """The code of a kernel, whose function has the code `root`, where that is known. Of a
    `profile`, `generated` maps lines of the text to their seconds, bytes and calls."""
    text = str(kernel.source)
    lines = text.split("\n")
    is_long = len(lines) > MOST_LINES
    provenance = provenance_of(text, None if is_long else kernel.marked())
    numbers = Numbers()
    origins: dict[int, int] = {}
    for piece in provenance.pieces:
        statement = numbers.statement(piece.where)
        if provenance.exact:
            numbers.expression(piece.where)
        for line in range(piece.line, piece.end_line + 1):
            origins.setdefault(line, statement)
    graph = getattr(kernel, "graph", None)
    files: Files = {} if graph is None else graph.files
    listings = listings_of(numbers, files, root)
    costs = {line: Cost(*cost) for line, cost in (profile.generated if profile else {}).items()}
    generated = _generated_lines(lines, provenance, numbers)
    functions = functions_of(text)
    first = min((rows.start for rows in functions.values()), default=len(lines))
    most = max((cost.seconds for cost in costs.values()), default=0.0)
    cells = {line: _cost_cell(cost, most) for line, cost in costs.items()}
    panes = {}
    for name, rows in functions.items():
        seconds = sum(costs[line].seconds for line in rows if line in costs)
        has_costs = any(line in costs for line in rows)
        html = "".join(folded(rows, lines, generated, cells))
        panes[name] = Pane(name, html, len(rows), seconds if has_costs else None)
    return Code(
        _user_panes(listings, _by_statement(costs, origins)),
        panes,
        Pane("head of the module", "".join(generated[n] for n in range(1, first)), first - 1),
        numbers,
        provenance.exact,
        origins,
    )


def _by_statement(costs: Mapping[int, Cost], origins: Mapping[int, int]) -> dict[int, Cost]:
    """The costs of the user's statements."""
    found: dict[int, Cost] = {}
    for line, cost in costs.items():
        if line in origins:
            found[origins[line]] = found.get(origins[line], Cost(0.0, 0, 0)) + cost
    return found


def _cost_cell(cost: Cost, most: float) -> str:
    share = cost.seconds / most if most > 0 else 0.0
    told = f"{seconds_text(cost.seconds)}, {bytes_text(cost.bytes)}, {cost.calls} calls"
    return (
        f'<span class=c style="--share:{share:.3f}" title="{escaped(told)}">'
        f"{seconds_text(cost.seconds)} <small>{bytes_text(cost.bytes) if cost.bytes else ''}"
        "</small></span>"
    )


def _user_panes(listings: Iterable[Listing], costs: Mapping[int, Cost]) -> list[Pane]:
    most = max((cost.seconds for cost in costs.values()), default=0.0)
    panes = []
    for listing in listings:
        shown = _dedented(listing.lines)
        spans = {number: line.spans for number, line in enumerate(shown) if line.spans}
        texts = highlighted([line.text for line in shown], spans)
        rows = []
        told: set[int] = set()
        for line, text in zip(shown, texts, strict=True):
            of = [] if line.statement is None else [line.statement]
            cost = "".join(_cost_cell(costs[s], most) for s in of if s in costs and s not in told)
            told.update(of)
            rows.append(line_html(line.number or "", text, of, cost))
        title = listing.title if listing.whole else f"{listing.title}: the lines it cites"
        seconds = sum(cost.seconds for number, cost in costs.items() if number in told)
        panes.append(Pane(title, "".join(rows), len(rows), seconds if costs else None))
    return panes


def _dedented(lines: Sequence[CodeLine]) -> list[CodeLine]:
    """Lines without the margin that all of them have."""
    margin = min(
        (len(one.text) - len(one.text.lstrip()) for one in lines if one.text.strip()), default=0
    )
    return [
        line._replace(
            text=line.text[margin:],
            spans=[
                one._replace(start=one.start - margin, stop=one.stop - margin) for one in line.spans
            ],
        )
        for line in lines
    ]


def line_html(number: object, text: str, statements: Iterable[int], cost: str = "") -> str:
    """One line: its number, its cost and its text, which is HTML. It stands in `<pre>`, of which no
    tool that exports notebooks takes the indentation away."""
    of = " ".join(map(str, statements))
    place = f' data-s="{of}" tabindex=-1' if of else ""
    shown = f"<span class=n>{escaped(number)}</span>{cost}<pre><code>{text}</code></pre>"
    return f"<div class=l{place}>{shown}</div>"


def _generated_lines(
    lines: Sequence[str], provenance: Provenance, numbers: Numbers
) -> dict[int, str]:
    """Each line of the module as HTML, by its number; {cost} stands where its cost goes."""
    spans: dict[int, list[Span]] = {}
    statements: dict[int, dict[int, None]] = {}
    for piece in provenance.pieces:
        attributes = _attributes(piece, numbers, provenance.exact)
        for line, start, stop in split_at_lines(*piece[:4], lines):
            statements.setdefault(line, {})[numbers.statement(piece.where)] = None
            if attributes:
                spans.setdefault(line - 1, []).append(Span(start, stop, attributes))
    texts = highlighted(lines, spans)
    return {
        number: line_html(number, text, statements.get(number, ()))
        for number, text in enumerate(texts, 1)
    }


def _attributes(piece: Piece, numbers: Numbers, exact: bool) -> str:
    """The attributes of a part of a line: its expression, and what it is."""
    expression = numbers.expression(piece.where) if exact else None
    if expression is None:
        return ""
    node = piece.node
    told = "" if node is None else ", ".join(repr(value.type) for value in node.results)
    return f'data-e={expression} title="{escaped(told)}"' if told else f"data-e={expression}"
