"""Kernel view: the part of a page that is about one kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracejit.explorer.drawing import Drawing, drawing_of
from tracejit.explorer.guard_costs import GuardRow, guards_of
from tracejit.explorer.highlight import escaped
from tracejit.explorer.panes import Code, Pane, code_of
from tracejit.explorer.quantities import bytes_of, bytes_text, seconds_text, size_text
from tracejit.explorer.story import ShownKernel, Story

MOST_ROWS = 24
MOST_SIZES = 3
_SOURCE_IS_GONE = (
    "This kernel was loaded as text. The statements that its comments cite are "
    "shown in place of your code."
)
_LINES_ALONE = "What expression each part of a line is from is not known here; what line is."


def kernel_view(story: Story, number: int, is_hidden: bool) -> str:
    """The view of kernel `number` of a page, as HTML."""
    code = code_of(story.kernel, story.root, story.profile)
    hidden = " hidden" if is_hidden else ""
    label = f'id=kernel-{number} role=tabpanel aria-label="kernel {number}"'
    parts = [
        f"<section class=kernel {label}{hidden}>",
        *_why(story),
        *_facts(story.kernel, code),
        *_panes(code, number, story),
        "<div class=tables>",
        *_guards(story),
        *_residuals(story.kernel, code),
        "</div>",
        *_graph(story.kernel, code),
        "</section>",
    ]
    return "".join(parts)


def _why(story: Story) -> Iterator[str]:
    told = [text for text in (story.reason, *story.notes) if text]
    if not hasattr(story.kernel, "graph"):
        told.append(_SOURCE_IS_GONE)
    if story.profile is not None:
        told.append("Each line shows the time and the memory that the profile measured for it.")
    yield "<div class=why>"
    yield from (f"<p>{escaped(text)}</p>" for text in told)
    yield "</div>"


def _facts(kernel: ShownKernel, code: Code) -> Iterator[str]:
    signature = kernel.signature
    inputs = ", ".join(f"{name} {kind}" for name, kind in signature["inputs"].items())
    facts = {"takes": inputs or "nothing", "gives": ", ".join(signature["outputs"])}
    if "gradient" in signature:
        facts["gradient with respect to"] = ", ".join(signature["gradient"])
        facts["residuals"] = f"{len(signature['residuals'])}, {_own_bytes(kernel)}"
    facts["lines"] = str(str(kernel.source).count("\n"))
    facts["key"] = kernel.key[:12]
    facts["file"] = "in memory" if kernel.path is None else kernel.path.name
    yield "<dl class=facts>"
    for name, text in facts.items():
        yield f"<div><dt>{escaped(name)}</dt><dd>{escaped(text)}</dd></div>"
    yield "</dl>"


def _own_bytes(kernel: ShownKernel) -> str:
    """The bytes of the residuals that are not arguments."""
    inputs = kernel.signature["inputs"]
    kinds = [kind for name, kind in kernel.signature["residuals"].items() if name not in inputs]
    sizes = [bytes_of(kind) for kind in kinds]
    known = bytes_text(sum(size or 0 for size in sizes))
    free = [size_text(kind) for kind, size in zip(kinds, sizes, strict=True) if size is None]
    told = [*([] if free and known == "0 B" else [known]), *filter(None, free)]
    return " + ".join(told[:MOST_SIZES]) + (" + ..." if len(told) > MOST_SIZES else "")


def _panes(code: Code, number: int, story: Story) -> Iterator[str]:
    forward = {name: pane for name, pane in code.functions.items() if _is_forward(name)}
    others = {name: pane for name, pane in code.functions.items() if not _is_forward(name)}
    yield "<div class=panes>"
    yield "<section class=pane><h3><span>your code</span></h3><div class='code user' tabindex=0>"
    yield f'<div class="{code.user[0].styles if code.user else "rows"}">'
    for pane in code.user:
        yield f"<h4>{escaped(pane.title)}</h4>{pane.html}"
    yield "</div></div></section>"
    columns = [panes for panes in (forward, others) if panes] or [{}]
    for place, panes in enumerate(columns):
        shown = {**panes, "head": code.head} if panes is columns[-1] else panes
        # The function that the profile is of, or the first.
        chosen = max(shown, key=lambda name: shown[name].seconds or 0.0)
        yield from _pane(shown, chosen, f"k{number}-{place}")
    yield "</div>"
    if not code.exact and hasattr(story.kernel, "graph"):
        yield f"<p class=note>{_LINES_ALONE}</p>"


def _is_forward(name: str) -> bool:
    return not name.startswith(("backward", "value_and_grad"))


def _pane(panes: dict[str, Pane], chosen: str, prefix: str) -> Iterator[str]:
    yield "<section class='pane made'><h3>"
    for place, name in enumerate(panes):
        pressed = "true" if name == chosen else "false"
        yield f"<button data-show={prefix}-{place} aria-pressed={pressed}>{escaped(name)}</button>"
    yield "</h3><div class=code tabindex=0>"
    for place, (name, pane) in enumerate(panes.items()):
        hidden = "" if name == chosen else " hidden"
        yield f'<div class="{pane.styles}" id={prefix}-{place} data-name="{escaped(name)}"{hidden}>'
        yield f"{pane.html}</div>"
    yield "</div></section>"


def _residuals(kernel: ShownKernel, code: Code) -> Iterator[str]:
    residuals: dict[str, str] = dict(kernel.signature.get("residuals", {}))
    if not residuals:
        return
    inputs = kernel.signature["inputs"]
    sizes = {name: bytes_of(kind) for name, kind in residuals.items()}
    most = max((size or 0 for size in sizes.values()), default=0) or 1
    yield f"<section><h2>Residuals <small>what forward keeps for backward: {_own_bytes(kernel)}"
    yield " beside the arguments</small></h2><div class=scroll><table><thead><tr><th>name"
    yield "<th>type<th class=num>bytes<th><th></thead><tbody>"
    rows = sorted(residuals, key=lambda name: -(sizes[name] or 0))
    made = _made_at(str(kernel.source), code)
    for name in rows[:MOST_ROWS]:
        size = sizes[name]
        told = size_text(residuals[name])
        bar = "" if size is None else f"<i style='--share:{size / most:.4f}'></i>"
        note = "an argument, not copied" if name in inputs else ""
        place = f" data-s={made[name]}" if name in made else ""
        yield f"<tr{place}><td><code>{escaped(name)}</code><td><code>{escaped(residuals[name])}"
        yield f"</code><td class=num>{escaped(told)}<td class=bar>{bar}<td class=note>{note}</tr>"
    if len(rows) > MOST_ROWS:
        yield f"<tr class=group><td colspan=5>and {len(rows) - MOST_ROWS} more</tr>"
    yield "</tbody></table></div></section>"


def _made_at(text: str, code: Code) -> dict[str, int]:
    """The statement of the last line that binds each name in forward."""
    found = {}
    is_forward = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("def "):
            is_forward = line.startswith("def forward")
        match = re.match(r" +(\w+) [-+*/@]?= ", line)
        if is_forward and match is not None and number in code.origins:
            found[match[1]] = code.origins[number]
    return found


def _guards(story: Story) -> Iterator[str]:
    if story.entry is None:
        return
    found = guards_of(story.entry, story.words)
    yield f"<section><h2>Guards <small>tested at each call: {seconds_text(found.seconds)} together,"
    yield " measured for this page</small></h2>"
    yield "<div class=scroll><table><thead><tr><th>what<th>has to be<th class=num>time</thead>"
    yield "<tbody>"
    yield from _guard_rows(found.arguments)
    if found.reads:
        yield "<tr class=group><td colspan=2>What the function reads besides<td class=num>"
        yield f"{seconds_text(found.seconds_of_reads)}</tr>"
    yield from _guard_rows(found.reads)
    yield "</tbody></table></div></section>"


def _guard_rows(rows: Sequence[GuardRow]) -> Iterator[str]:
    for row in rows[:MOST_ROWS]:
        seconds = "" if row.seconds is None else seconds_text(row.seconds)
        yield f"<tr><td><code>{escaped(row.what)}</code><td>{escaped(_cut(row.wants))}"
        yield f"<td class=num>{seconds}</tr>"
    if len(rows) > MOST_ROWS:
        yield f"<tr class=group><td colspan=3>and {len(rows) - MOST_ROWS} more</tr>"


def _cut(text: str, longest: int = 160) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ..."


def _graph(kernel: ShownKernel, code: Code) -> Iterator[str]:
    graph = getattr(kernel, "graph", None)
    if graph is None:
        return
    inputs = kernel.signature["inputs"]
    names: Sequence[str] = [value.name for value in graph.inputs if value.name not in inputs]
    seed = names[0] if names and "gradient" in kernel.signature else ""
    drawing = drawing_of(graph, code.numbers, seed)
    count = f"{len(graph.nodes)} node{'s' * (len(graph.nodes) != 1)}"
    yield f"<h2>Graph <small>as recorded and differentiated, before any pass: {count}"
    yield "; drag it to move it, Ctrl and wheel make it larger</small></h2>"
    yield _framed(drawing, any(word in drawing.svg for word in ("box back", ' back"')))
    if drawing.left_out:
        yield f"<p class=note>{escaped(drawing.left_out)}</p>"


def _framed(drawing: Drawing, has_backward: bool) -> str:
    """The drawing in a frame in which it can be moved."""
    size = f"{drawing.width:.0f} {drawing.height:.0f}"
    backward = "<i class=back></i>backward" if has_backward else ""
    return (
        "<div class=graph><div class=tools><button data-zoom=out aria-label='smaller'>&minus;"
        "</button><button data-zoom=in aria-label='larger'>+</button><button data-zoom=fit>Fit"
        f'</button></div><svg class=net tabindex=0 role=img aria-label="the graph" '
        f'viewBox="-20 -20 {drawing.width + 40:.0f} {drawing.height + 40:.0f}" '
        f'data-size="{size}" data-start={drawing.start:.0f}>{drawing.svg}</svg>'
        f"<div class=legend><i class=in></i>input<i></i>forward{backward}</div></div>"
    )
