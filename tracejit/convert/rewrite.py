"""Calls and reads of a function, rewritten to operators.

One pass over the syntax tree, with a stack of its own, so it is linear and any depth will do.
`PARTS` says which parts of which syntax are rewritten. What is not in the table is left as it is:
nested functions, lambdas, classes, patterns, annotations and whatever Python gains later. The
functions inside stay the user's code objects, the very same.

Operators are constants of the new code, so no scope, closure or traceback shows a name of ours.
The new code has the lines and columns of the old: what is added has those of what it stands for.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Collection, Iterator
from types import CodeType
from typing import Any

from tracejit.convert.branches import with_branches
from tracejit.convert.glue import Again, Dead, Handler, Release, Round, Unbind, Way
from tracejit.convert.operators import Place
from tracejit.convert.source import Source, codes_in
from tracejit.convert.syntax import MARK, Operation, at, children_of, operation

SLICE = "slice"
TYPE = "type"
"""The constants that stand for Python's own classes of these names."""

PLACE = f"{MARK}place "
"""The start of the constants that stand for places, one for each."""

MOST_PARTS = 20
"""Parts of the arguments of a method that is called as it is written, or otherwise."""

_TABLE = {
    "Expr Return Await Yield NamedExpr": "value",
    "YieldFrom": "value:iterate",
    "Assign": "targets value:iterate",
    "AugAssign": "target value:operand",
    "AnnAssign": "target value",
    "Delete": "targets",
    "Raise": "exc cause",
    "Assert": "test:truth msg",
    "If While": "test:truth body orelse",
    "IfExp": "test:truth body:truth orelse:truth",
    "For": "target iter:iterate body orelse",
    "AsyncFor": "target iter body orelse",
    "With AsyncWith": "items body",
    "withitem": "context_expr:enter optional_vars",
    "Try TryStar": "body handlers orelse finalbody",
    "ExceptHandler": "type body",
    "Match": "subject:match cases",
    "match_case": "guard:truth body",
    "FunctionDef AsyncFunctionDef": "decorator_list:call args",
    "ClassDef": "decorator_list:call bases keywords",
    "Lambda": "args",
    "arguments": "defaults kw_defaults",
    "BoolOp": "values:truth",
    "BinOp": "left right",
    "UnaryOp": "operand:truth",
    "Dict": "keys values:expand",
    "Set List Tuple": "elts",
    "ListComp SetComp GeneratorExp": "elt",
    "DictComp": "key value",
    "Compare": "left:operand comparators:operand",
    "Call": "func:call args keywords",
    "keyword": "value:expand",
    "JoinedStr": "values",
    "FormattedValue": "value:text format_spec",
    "Attribute": "value:store",
    "Subscript": "value:store slice",
    "Slice": "lower upper step",
    "Starred": "value:iterate",
    "Operation": "args",
}


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Choice(ast.IfExp):
    """An operation, unless its place knows the answer."""


PARTS: dict[type[ast.AST], list[tuple[str, str]]] = {
    Way: [("body", ""), ("orelse", "")],
    Again: [("body", "")],
    Unbind: [],
    Dead: [],
    Handler: [],
    Release: [],
}
"""The fields of each kind of syntax that are rewritten, and the operator around what is there."""

for _names, _fields in _TABLE.items():
    for _name in _names.split():
        if _kind := getattr(ast, _name, globals().get(_name)):  # Python 3.10 has no TryStar
            PARTS[_kind] = [(one.split(":")[0], one.partition(":")[2]) for one in _fields.split()]
PARTS[Round] = PARTS[ast.For]

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.In: "contains",
    ast.NotIn: "contains",
    ast.Is: "identical",
    ast.IsNot: "identical",
}
_OPERATIONS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le",
    ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne", ast.UAdd: "pos", ast.USub: "neg",
    ast.Invert: "invert",
}  # fmt: skip
"""The functions of the module `operator`, by syntax."""

_IN_PLACE = {kind: f"i{name.rstrip('_')}" for kind, name in _OPERATIONS.items()}
NAMES = frozenset((*_OPERATIONS.values(), *[
    name for name in _IN_PLACE.values() if hasattr(operator, name)
]))  # fmt: skip
"""The names of all operations."""

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DISPLAYS = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
_NOT_SIMPLE = (
    *(ast.Call, ast.Lambda, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
    *(ast.JoinedStr, *_COMPREHENSIONS),
)
_SINGLE = (None, True, False, ...)


def rewrite(source: Source, kinds: Collection[str]) -> CodeType:
    """The code of a verified function with operators of these kinds; `bind` completes it."""
    module, node = source.tree()
    _rewrite(source, node, kinds)
    scope = source.innermost(source.compile(module))
    old = source.code
    new = next(code for code in reversed(codes_in(scope)) if code.co_name == old.co_name)
    own = {code: code for code in _functions_inside(old)}
    adopted = _adopted(new, old, own, getattr(new, "co_qualname", ""))
    return adopted.replace(co_flags=old.co_flags)


def converted_text(source: Source, kinds: Collection[str]) -> str:
    """The text of what `rewrite` makes of a function, with names for the operators."""
    _, node = source.tree()
    _rewrite(source, node, kinds)
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
    return ast.unparse(_Naming(id(source.code)).visit(node))


def _rewrite(source: Source, node: Definition, kinds: Collection[str]) -> None:
    """Rewrite the tree of a function."""
    _strip(node)
    own = bound_names(node) if {"name", "cell"} & set(kinds) else frozenset[str]()
    if "branch" in kinds:
        with_branches(node, id(source.code))
    _Rewriting(source, node, kinds, own).run()


class _Naming(ast.NodeTransformer):
    """Names in place of operators, and of the number of the code."""

    def __init__(self, where: int) -> None:
        self.where = where

    def visit_Operation(self, node: Operation) -> ast.Call:
        """Answer a call of the user's kind."""
        self.generic_visit(node)
        args = [one for one in node.args if not getattr(one, "id", "").startswith("place_")]
        return ast.Call(node.func, args, node.keywords)

    def generic_visit(self, node: ast.AST) -> Any:
        """Answer syntax of the user's kind."""
        super().generic_visit(node)
        kind: Any = type(node)
        if kind.__module__ in ("ast", "_ast") or isinstance(node, Operation):
            return node
        return at(node, kind.__base__(*[getattr(node, field) for field in node._fields]))

    def visit_Choice(self, node: Choice) -> ast.AST:
        """Answer the operation."""
        found: ast.AST = self.visit(node.body)
        return found

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Answer the name of an operator, or a constant of the user's."""
        if isinstance(node.value, str) and node.value.startswith(MARK):
            return ast.Name(node.value[len(MARK) :].replace(" ", "_"))
        return ast.Name("here") if node.value == self.where else node


def bind(code: CodeType, operators: dict[str, Any]) -> tuple[CodeType, list[Place]]:
    """The code that `rewrite` has made, with the operators in it, and its places of calls."""
    operators = {SLICE: slice, TYPE: type, **operators}
    if "operate" in operators:
        operators |= {f"operate {name}": operators["operate"](name) for name in NAMES}
    places: list[Place] = []
    return _bound(code, {MARK + kind: one for kind, one in operators.items()}, places), places


def _bound(code: CodeType, operators: dict[str, Any], places: list[Place]) -> CodeType:
    constants = []
    for one in code.co_consts:
        if type(one) is str and one.startswith(MARK):
            if one.startswith(PLACE):
                places.append(Place())
                one = places[-1]
            else:
                one = operators[one]
        elif type(one) is CodeType and has_operators(one):
            one = _bound(one, operators, places)
        constants.append(one)
    return code.replace(co_consts=tuple(constants))


def has_operators(code: CodeType) -> bool:
    """Return whether `bind` has something to do in `code`."""
    return any(
        one.startswith(MARK) if type(one) is str else type(one) is CodeType and has_operators(one)
        for one in code.co_consts
    )


def _adopted(new: CodeType, old: CodeType, own: dict[CodeType, CodeType], scope: str) -> CodeType:
    """`new` with the user's own functions inside, and named as `old`; `scope` is how the code of
    the function was named here."""
    constants = tuple(
        (own.get(one) or _adopted(one, old, own, scope)) if type(one) is CodeType else one
        for one in new.co_consts
    )
    changes: dict[str, Any] = {"co_consts": constants}
    if sys.version_info >= (3, 11):
        changes["co_qualname"] = new.co_qualname.replace(scope, old.co_qualname, 1)
    return new.replace(**changes)


def _functions_inside(code: CodeType) -> Iterator[CodeType]:
    """The functions and classes that `code` makes, and those that its comprehensions make."""
    for inner in codes_in(code):
        yield inner
        if inner.co_name.startswith("<"):
            yield from _functions_inside(inner)


def _strip(node: Definition) -> None:
    """Take away what is evaluated where the function is defined; its first line stays its first."""
    node.args.defaults = []
    node.args.kw_defaults = [None for _ in node.args.kwonlyargs]
    parameters = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    for parameter in (*parameters, node.args.vararg, node.args.kwarg):
        if parameter is not None:
            parameter.annotation = None
    if not isinstance(node, ast.Lambda):
        node.decorator_list = [at(one, ast.Constant(None)) for one in node.decorator_list[:1]]
        node.returns = None
        if sys.version_info >= (3, 12):
            node.type_params = []


READS_OF_NAMES = frozenset(("name", "cell", "attribute"))
"""The kinds of operators for what a call reads to find what it calls."""


class _Rewriting:
    """One function while it is rewritten.

    A node is rewritten in its place: its parent gets an operation instead, of which the node, or
    what it was made of, is an argument. `waiting` has the nodes whose parts are still to be seen,
    each with the variables of the comprehensions around it.
    """

    def __init__(
        self, source: Source, node: Definition, kinds: Collection[str], own: frozenset[str]
    ) -> None:
        """Begin with the body of a function, which had names of its `own` when it was parsed."""
        self.kinds = frozenset(kinds)
        self.where = id(source.code)
        self.class_name = source.class_name()
        self.free = frozenset(source.code.co_freevars)
        self.own = own
        self.keywords = node.args.kwarg.arg if node.args.kwarg else ""
        self.hidden = frozenset[str]()
        self.waiting: list[tuple[ast.AST, frozenset[str]]] = []
        self.places = 0
        code = source.code
        self.variables = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.each(node, "body")

    def run(self) -> None:
        """Rewrite what is waiting, until nothing is."""
        while self.waiting:
            node, self.hidden = self.waiting.pop()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if self.kinds & {"call", "attribute"} and node.lineno != node.func.end_lineno:
                    _put_at_name(node, node.func)
            elif isinstance(node, ast.AugAssign):
                target: Any = node.target
                target.is_updated = True
            elif isinstance(node, ast.Assert):
                for inner in ast.walk(node.test):
                    inner.is_asserted = True  # type: ignore[attr-defined]
            elif isinstance(node, _COMPREHENSIONS):
                self.generators(node)
            parts = PARTS[type(node)]
            is_generic_class = isinstance(node, ast.ClassDef) and getattr(node, "type_params", [])
            for field, kind in parts[:1] if is_generic_class else parts:
                self.each(node, field, kind)

    def generators(self, node: Any) -> None:
        """Rewrite the clauses of a comprehension. The first iterable is read in the scope around,
        the rest in the comprehension's own."""
        targets = [one for clause in node.generators for one in ast.walk(clause.target)]
        inner = self.hidden | {one.id for one in targets if isinstance(one, ast.Name)}
        for clause in node.generators:
            self.each(clause, "iter", "iterate")
            self.hidden = inner
            self.each(clause, "target")
            self.each(clause, "ifs", "truth")

    def each(self, node: ast.AST, field: str, kind: str = "") -> None:
        """Rewrite what stands in a field, one node or several."""
        part = getattr(node, field)
        if isinstance(part, list):
            part[:] = [one and self.operand(node, one, kind, i) for i, one in enumerate(part)]
        elif part is not None:
            setattr(node, field, self.operand(node, part, kind, 0))

    def operand(self, node: Any, part: Any, kind: str, index: int) -> Any:
        """A part of a node, with the operator around it that the node has for it."""
        if kind == "call" and "method" in self.kinds and isinstance(node, ast.Call):
            if isinstance(part, ast.Attribute):
                return self.method(part)
        new = self.part(part)
        if not kind:
            return new
        kind, *more = _around(node, part, kind, index)
        if kind == "call" and "site" in self.kinds and isinstance(node, ast.Call):
            at_place = self.at_place(part, new)
            if at_place is not None:
                return at_place
        if kind not in self.kinds:
            return new
        if kind in ("store", "update"):
            more = [self.mangled(node.attr) if isinstance(node, ast.Attribute) else None]
        return _operation(kind, part, new, *[at(part, ast.Constant(one)) for one in more])

    def part(self, node: Any) -> Any:
        """Answer what stands for a node; its parts are seen in turn."""
        if isinstance(node, ast.Name):
            return self.named(node)
        if type(node) not in PARTS:
            return node
        if isinstance(node, ast.Call) and (call := self.method_call(node)) is not None:
            return call
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            if "operate" in self.kinds:
                return self.part(_assignment(node))
        answer = self.answered(node)
        self.waiting.append((answer or node, self.hidden))
        if answer is None:
            is_made = (isinstance(node, _DISPLAYS) and not hasattr(node, "ctx")) or (
                isinstance(node, ast.List) and isinstance(node.ctx, ast.Load)
            )
            return _operation("made", node, node) if is_made and "made" in self.kinds else node
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotIn | ast.IsNot):
            return at(node, ast.UnaryOp(ast.Not(), answer))
        return answer

    def method(self, called: ast.Attribute) -> Any:
        """The operation that reads what is called of an object; of a global, its place may know."""
        holder = called.value
        word = _text(called, self.mangled(called.attr))
        read = _operation("method", called, holder, word)
        self.waiting.append((read, self.hidden))
        is_global = isinstance(holder, ast.Name) and self.named(holder) is not holder
        if not (is_global and called.lineno == called.end_lineno):
            return read
        place = self.place(called)
        read.args.append(place)
        return _either(called, _is_new(holder, called, place), read, _part(place, "instead"))

    def at_place(self, called: ast.expr, read: ast.expr) -> ast.IfExp | None:
        """The choice of what is called for a name or an attribute of one, which its place knows;
        `read` is how it is read."""
        match called:
            case ast.Name():
                place = self.place(called)
                is_new = _is_not(called, place, "called")
                return _either(called, is_new, _site(read, place), _part(place, "instead"))
            case ast.Attribute(value=ast.Name() as holder) if self.is_read_twice(called):
                place = self.place(called)
                asked = _site(called, place, holder)
                if self.is_variable(holder):
                    return _either(called, _is_no_instance(holder, place), asked, called)
                test = _is_new(holder, called, place)
                return _either(called, test, asked, _part(place, "instead"))
        return None

    def method_call(self, call: ast.Call) -> ast.IfExp | None:
        """A call of a method with simple arguments, as it is written where its place knows it.

        Not where it is asserted: Python 3.11 gives the columns of a comparison to the statement.
        """
        if "site" not in self.kinds or hasattr(call, "is_asserted"):
            return None
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name() as holder) as called):
                is_method = self.is_read_twice(called) and self.is_variable(holder)
                if not is_method or not _is_simple(call):
                    return None
                place = self.place(called)
                other = ast.Call(_site(called, place, holder), call.args, call.keywords)
                return _either(call, _is_no_instance(holder, place), at(call, other), call)
        return None

    def place(self, called: ast.expr) -> ast.Constant:
        """The constant of a place that no other call has."""
        self.places += 1
        return _text(called, f"{PLACE}{self.places}")

    def is_read_twice(self, called: ast.Attribute) -> bool:
        """Return whether an attribute of a name stays as it is written, on one line."""
        return self.kinds.isdisjoint(READS_OF_NAMES) and called.lineno == called.end_lineno

    def is_variable(self, node: ast.Name) -> bool:
        """Return whether a name is one of the function's, and not of its module."""
        return node.id in self.hidden or self.mangled(node.id) in self.variables

    def answered(self, node: Any) -> Operation | None:
        """The operation that answers in place of a node, if there is one."""
        match node:
            case ast.Attribute(value=o, attr=name, ctx=ast.Load()) if "attribute" in self.kinds:
                return _operation("attribute", node, o, _text(node, self.mangled(name)))
            case ast.Subscript(value=o, slice=key, ctx=ast.Load()) if "item" in self.kinds:
                return _operation("item", node, o, _key(key))
            case ast.Compare(left=left, ops=[one], comparators=[right]):
                kind = _COMPARISONS.get(type(one), "")
                is_single = isinstance(right, ast.Constant) and right.value in _SINGLE
                if kind in self.kinds and not (kind == "identical" and is_single):
                    return _operation(kind, node, left, right)
                if type(one) in _OPERATIONS and "operate" in self.kinds:
                    return _operation(f"operate {_OPERATIONS[type(one)]}", node, left, right)
            case ast.BinOp(left=left, op=one, right=right) if "operate" in self.kinds:
                return _operation(f"operate {_OPERATIONS[type(one)]}", node, left, right)
            case ast.UnaryOp(op=one, operand=operand) if "operate" in self.kinds:
                if type(one) in _OPERATIONS and not isinstance(operand, ast.Constant):
                    return _operation(f"operate {_OPERATIONS[type(one)]}", node, operand)
        return None

    def named(self, node: ast.Name) -> Any:
        """The read of a global, or of a variable of a function around."""
        name = self.mangled(node.id)
        if node.id == self.keywords and isinstance(node.ctx, ast.Load) and "made" in self.kinds:
            return _operation("made", node, node)
        kind = "cell" if name in self.free else "name"
        is_own = node.id in self.own or node.id in self.hidden or name == "__class__"
        is_own |= name.startswith(".")  # ours
        if is_own or kind not in self.kinds or not isinstance(node.ctx, ast.Load):
            return node
        return _operation(kind, node, at(node, ast.Constant(self.where)), _text(node, name), node)

    def mangled(self, name: str) -> str:
        """A private name as Python calls it in the class around."""
        owner = self.class_name.lstrip("_")
        is_private = owner and name.startswith("__") and not name.endswith("__")
        return f"_{owner}{name}" if is_private else name


def bound_names(node: Definition) -> frozenset[str]:
    """The names that are not read as globals or cells: those that a function binds, and those that
    it declares."""
    arguments = node.args
    found = {one.arg for one in arguments.posonlyargs + arguments.args + arguments.kwonlyargs}
    found |= {one.arg for one in (arguments.vararg, arguments.kwarg) if one is not None}
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        one = waiting.pop()
        if type(one) not in _MAY_BIND:
            waiting += children_of(one)
            continue
        match one:
            case ast.Name(id=name, ctx=context):
                if type(context) is not ast.Load:
                    found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.comprehension(iter=iterable, ifs=tests):
                waiting += [iterable, *tests]
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update((one.asname or one.name).split(".")[0] for one in aliases)
            case ast.Lambda(args=inner):
                waiting.append(inner)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as inner:
                found.add(inner.name)
                waiting += inner.decorator_list
                if isinstance(inner, ast.ClassDef):
                    waiting += [*inner.bases, *inner.keywords]
                else:
                    waiting.append(inner.args)
            case other:
                name = getattr(other, "rest" if isinstance(other, ast.MatchMapping) else "name")
                found.update(() if name is None else (name,))
                waiting += children_of(other)
    return frozenset(found)


_MAY_BIND = frozenset((
    ast.Name, ast.Global, ast.Nonlocal, ast.comprehension, ast.Import, ast.ImportFrom, ast.Lambda,
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs,
    ast.MatchStar, ast.MatchMapping,
    *[vars(ast)[one] for one in ("TypeVar", "ParamSpec", "TypeVarTuple") if one in vars(ast)],
))  # fmt: skip
"""The classes of syntax that bind names, or have a scope of their own."""


def _around(node: Any, part: Any, kind: str, index: int) -> tuple[Any, ...]:
    """The operator around a part of a node, and its other arguments; "" where there is none."""
    match kind, node:
        case "truth", _:
            if not _is_asked(node, part, index):
                return ("",)
            is_kept = isinstance(node, ast.BoolOp) and not hasattr(node, "is_asked")
            return ("truth", True) if is_kept else ("truth",)
        case "expand", ast.keyword(arg=name):
            return ("expand",) if name is None else ("",)
        case "expand", ast.Dict(keys=keys):
            return ("expand",) if keys[index] is None else ("",)
        case "operand", ast.AugAssign(target=ast.Name()):
            return ("",)
        case "operand", ast.Compare(ops=ops):
            return (
                ("",) if all(isinstance(one, ast.Is | ast.IsNot) for one in ops) else ("operand",)
            )
        case "iterate", ast.Assign(targets=targets):
            if depth := max(map(_depth, targets)):
                return "iterate", depth
            is_given = any(isinstance(one, ast.Subscript) for one in targets)
            return ("operand" if is_given else "",)
        case "iterate", ast.Starred(ctx=context):
            return ("iterate", 1) if isinstance(context, ast.Load) else ("",)
        case "iterate", ast.YieldFrom():
            return "iterate", 1
        case "iterate", ast.comprehension(is_async=1):
            return ("",)
        case "iterate", _:
            return "iterate", 1 + _depth(node.target)
        case "store", _:
            if isinstance(node.ctx, ast.Load):
                return ("",)
            is_read = hasattr(node, "is_updated") or isinstance(node.ctx, ast.Del)
            return ("update" if is_read else "store",)
    return (kind,)


def _assignment(node: ast.AugAssign) -> ast.Assign:
    """`x = operate("iadd", x, y)` for `x += y`."""
    name: Any = node.target
    function = _IN_PLACE[type(node.op)]
    read = at(name, ast.Name(name.id, ast.Load()))
    made = _operation(f"operate {function}", node, read, node.value)
    assignment: ast.Assign = at(node, ast.Assign([name], made))
    return assignment


def _is_asked(node: Any, part: Any, index: int) -> bool:
    """Return whether Python asks if the value of `part` is true.

    In `if a and b:` it asks `a` and `b`, each once, and not what `a and b` is; so the sides of
    `a if t else b`. And so in chains of comparisons, whose parts have no place for an operator.
    """
    is_last = isinstance(node, ast.BoolOp) and index == len(node.values) - 1
    is_side = isinstance(node, ast.IfExp) and (part is node.body or part is node.orelse)
    if is_last or is_side:
        if not hasattr(node, "is_asked"):
            return False
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return False
    if isinstance(part, ast.BoolOp | ast.IfExp):
        asked: Any = part
        asked.is_asked = True
        return False
    is_chain = isinstance(part, ast.Compare) and len(part.ops) > 1
    return not (is_chain or (isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not)))


def _depth(target: ast.expr) -> int:
    """The number of levels on which a target takes apart what it is given."""
    if isinstance(target, ast.Tuple | ast.List):
        return 1 + max(map(_depth, target.elts), default=0)
    return 0


def _key(node: ast.expr) -> ast.expr:
    """An index as an expression of its own."""
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            parts = [one or at(node, ast.Constant(None)) for one in (lower, upper, step)]
            return _operation(SLICE, node, *parts)
        case ast.Tuple(elts=parts):
            node.elts = [_key(one) for one in parts]
    return node


def _operation(kind: str, place: Any, *arguments: Any) -> Operation:
    """A call of an operator at the place of what it stands for: a debugger that steps from line to
    line, and a traceback, see no others."""
    first = place
    if isinstance(place, _COMPREHENSIONS) and sys.version_info >= (3, 12):
        first = place.generators[0].iter  # comprehensions are inlined
    made = operation(kind, place, *arguments)
    made.func = at(first, made.func)
    if isinstance(place, ast.Attribute) and place.lineno != place.end_lineno:
        for one in (made, *arguments[1:]):
            _put_at_name(one, place)
    return made


def _site(called: ast.expr, place: ast.Constant, *holder: ast.expr) -> Operation:
    return _operation("site", called, called, place, *holder)


def _part(place: ast.Constant, name: str) -> ast.Attribute:
    part: ast.Attribute = at(place, ast.Attribute(place, name, ast.Load()))
    return part


def _is_not(node: ast.expr, place: ast.Constant, name: str) -> ast.Compare:
    test: ast.Compare = at(node, ast.Compare(node, [ast.IsNot()], [_part(place, name)]))
    return test


def _is_new(holder: ast.expr, called: ast.expr, place: ast.Constant) -> ast.expr:
    tests: list[ast.expr] = [_is_not(holder, place, "holder"), _is_not(called, place, "called")]
    test: ast.expr = at(called, ast.BoolOp(ast.Or(), tests))
    return test


def _is_no_instance(holder: ast.expr, place: ast.Constant) -> ast.Compare:
    return _is_not(_operation(TYPE, holder, holder), place, "holder")


def _either(node: ast.expr, test: ast.expr, one: ast.expr, other: ast.expr) -> ast.IfExp:
    either: ast.IfExp = at(node, Choice(test, one, other))
    return either


def _is_simple(call: ast.Call) -> bool:
    """Return whether nothing is rewritten in the arguments of a call, and these are few."""
    waiting: list[ast.AST] = [*call.args, *call.keywords]
    for _ in range(MOST_PARTS):
        if not waiting:
            return True
        node = waiting.pop()
        if isinstance(node, _NOT_SIMPLE):
            return False
        waiting += ast.iter_child_nodes(node)
    return False


def _put_at_name(node: ast.expr, attribute: ast.Attribute) -> None:
    """Let a node begin where the name of an attribute does, which is where Python reads it."""
    node.lineno = attribute.end_lineno or attribute.lineno
    node.col_offset = (attribute.end_col_offset or 0) - len(attribute.attr)


def _text(place: Any, text: str) -> ast.Constant:
    constant: ast.Constant = at(place, ast.Constant(text))
    return constant
