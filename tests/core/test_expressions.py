import string
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sky_core.expressions import (
    DEFAULT_OPERATOR,
    DEFAULTS,
    MAX_LENGTH,
    MAX_NESTING,
    POINTS,
    SYNONYMS,
    ExpressionError,
    Kind,
    compile_expression,
    default_text,
    parse,
)
from sky_core.expressions.syntax import Call, Name, Node, Star, Weight

VERDICT, NUMBER, VALUE, COMPARISON, BOOLEAN, SET = Kind

YES = None
NOBODY: Mapping[str, Any] = {}


def bound(kind: Kind, text: str, functions: Mapping[str, Callable[..., Any]], *, strict: bool = True) -> Any:
    return compile_expression(parse(text), kind, "here", tuple(functions), strict=strict).bind(functions)


def play(kind: Kind, text: str, answers: Mapping[str, Any], *, strict: bool = True) -> tuple[Any, list[str]]:
    """The combined answer of plugins that always say the same, and who was asked, in order."""
    asked = []

    def says(name: str) -> Callable[..., Any]:
        def function(*about: Any) -> Any:
            assert about == ("quota", "node")
            asked.append(name)
            return answers[name]

        return function

    return bound(kind, text, {name: says(name) for name in answers}, strict=strict)("quota", "node"), asked


def answer(kind: Kind, text: str, answers: Mapping[str, Any], *, strict: bool = True) -> Any:
    return play(kind, text, answers, strict=strict)[0]


@pytest.mark.parametrize(
    ("kind", "text", "answers", "expected", "asked"),
    [
        (VERDICT, "and(a, b, c)", {"a": YES, "b": "full", "c": "tainted"}, ("full",), "ab"),
        (VERDICT, "and(a, b)", {"a": YES, "b": YES}, (), "ab"),
        (VERDICT, "firstNotPass(a, b, c)", {"a": YES, "b": "full", "c": "tainted"}, ("full",), "ab"),
        (VERDICT, "joint(a, b, c)", {"a": "full", "b": YES, "c": "tainted"}, ("full", "tainted"), "abc"),
        (VERDICT, "joint(a, b)", {"a": YES, "b": YES}, (), "ab"),
        (VERDICT, "or(a, b, c)", {"a": "full", "b": YES, "c": "tainted"}, (), "ab"),
        (VERDICT, "or(a, b)", {"a": "full", "b": "tainted"}, ("full", "tainted"), "ab"),
        (VERDICT, "and(joint(a, b), c)", {"a": "x", "b": "y", "c": "z"}, ("x", "y"), "ab"),
        (VERDICT, "or(and(a, b), joint(b, c))", {"a": YES, "b": "y", "c": "z"}, ("y", "y", "z"), "abbc"),
        (VERDICT, "a", {"a": "full", "b": "tainted"}, ("full",), "a"),
        (VERDICT, "a", {"a": YES}, (), "a"),
        (VERDICT, "*", {"a": "full", "b": "tainted"}, ("full", "tainted"), "ab"),
        (VERDICT, "joint(a)", {"a": ""}, ("",), "a"),
        (NUMBER, "sum(a, b)", {"a": 3, "b": -5}, -2, "ab"),
        (NUMBER, "min(a, b, c)", {"a": 3, "b": -5, "c": 0}, -5, "abc"),
        (NUMBER, "max(a, b, c)", {"a": 3, "b": -5, "c": 0}, 3, "abc"),
        (NUMBER, "weight(a, 10)", {"a": 3}, 30, "a"),
        (NUMBER, "weight(a, +0.5)", {"a": 3}, 1, "a"),
        (NUMBER, "weight(a, -0.5)", {"a": 3}, -2, "a"),
        (NUMBER, "weight(a, 0.333)", {"a": 1000}, 333, "a"),
        (NUMBER, "weight(a, 0.05)", {"a": 1000}, 50, "a"),
        (NUMBER, "weight(a, 0)", {"a": 3}, 0, "a"),
        (NUMBER, "sum(weight(a, 2), max(b, weight(min(a, b), -3)))", {"a": 5, "b": 2}, 12, "abab"),
        (NUMBER, "sum(weight(b, 100), *)", {"a": 1, "b": 1, "c": 1}, 102, "bac"),
        (NUMBER, "max(weight(*, 2), c)", {"a": 3, "b": 4, "c": 7}, 8, "abc"),
        (NUMBER, "weight(*, 2)", {"a": 3, "b": 4}, 14, "ab"),
        (NUMBER, "*", {"a": 3, "b": 4}, 7, "ab"),
        (VALUE, "or(a, b, c)", {"a": None, "b": 0, "c": 7}, 0, "ab"),
        (VALUE, "or(a, b)", {"a": None, "b": None}, None, "ab"),
        (COMPARISON, "first(a, b, c)", {"a": 0, "b": -1, "c": 1}, -1, "ab"),
        (COMPARISON, "first(a, b)", {"a": 0, "b": 0}, 0, "ab"),
        (BOOLEAN, "and(a, b, c)", {"a": True, "b": False, "c": True}, False, "ab"),
        (BOOLEAN, "and(a, b)", {"a": True, "b": True}, True, "ab"),
        (BOOLEAN, "or(a, b, c)", {"a": False, "b": True, "c": False}, True, "ab"),
        (BOOLEAN, "or(a, b)", {"a": False, "b": False}, False, "ab"),
        (SET, "intersect(a, b)", {"a": {"v", "w"}, "b": {"w", "x"}}, {"w"}, "ab"),
        (SET, "union(a, b)", {"a": {"v"}, "b": {"w"}}, {"v", "w"}, "ab"),
        (SET, "intersect(union(a, b), c)", {"a": {"v"}, "b": {"w"}, "c": {"w"}}, {"w"}, "abc"),
    ],
)
def test_answers_combine_as_the_operator_says_and_nobody_is_asked_in_vain(
    kind: Kind, text: str, answers: Mapping[str, Any], expected: Any, asked: str
) -> None:
    assert play(kind, text, answers) == (expected, list(asked))


@pytest.mark.parametrize(
    ("text", "a", "b", "c", "expected"),
    [
        ("intersect(a, b, c)", {"v"}, None, {"v", "w"}, {"v"}),
        ("intersect(a, b, c)", {"v"}, {"w"}, {"v"}, set()),
        ("intersect(a, b, c)", set(), {"v"}, {"v"}, set()),
        ("intersect(a, b, c)", None, set(), None, set()),
        ("intersect(a, b, c)", None, None, None, None),
        ("union(a, b, c)", {"v"}, None, set(), {"v"}),
        ("union(a, b, c)", None, set(), None, set()),
        ("union(a, b, c)", None, None, None, None),
        ("intersect(union(a, b), c)", None, None, {"v"}, {"v"}),
        ("union(intersect(a, b), c)", {"v"}, {"w"}, {"x"}, {"x"}),
    ],
)
def test_an_abstention_is_skipped_and_an_empty_set_is_an_answer(
    text: str, a: Any, b: Any, c: Any, expected: set[str] | None
) -> None:
    assert answer(SET, text, {"a": a, "b": b, "c": c}) == expected


def test_an_intersection_that_became_empty_is_not_filled_again_by_the_next_plugin() -> None:
    assert answer(SET, "intersect(a, b, c)", {"a": {"v"}, "b": {"w"}, "c": {"v", "w"}}) == set()


def test_combining_leaves_the_sets_of_the_plugins_alone() -> None:
    mine = {"v", "w"}
    answer(SET, "intersect(union(a, b), c)", {"a": mine, "b": {"x"}, "c": {"v"}})

    assert mine == {"v", "w"}


Refusals: TypeAlias = list[str | None]


@given(st.lists(st.none() | st.text(max_size=2), min_size=1, max_size=6))
def test_joint_and_and_or_agree_on_who_may_pass(said: Refusals) -> None:
    answers = dict(zip(string.ascii_lowercase, said, strict=False))
    joint, every, some = (answer(VERDICT, f"{operator}(*)", answers) for operator in ("joint", "and", "or"))

    assert joint == tuple(refusal for refusal in said if refusal is not YES)
    assert every == joint[:1]
    assert some == (joint if YES not in said else ())


def test_a_refusal_is_marked_with_the_plugin_that_said_it() -> None:
    combination = compile_expression(parse("joint(*)"), VERDICT, "tn.predicate", ("a", "b", "c"), strict=True)
    ask = combination.bind(
        {"a": lambda node: f"{node} is full", "b": lambda node: YES, "c": lambda node: "tainted"},
        mark=lambda name, refusal: (name, refusal),
    )

    assert ask("n1") == (("a", "n1 is full"), ("c", "tainted"))


@pytest.mark.parametrize("kind", [NUMBER, VALUE, COMPARISON, BOOLEAN, SET])
@pytest.mark.parametrize("operator", [None, "default"])
def test_a_plugin_that_answers_alone_is_asked_directly(kind: Kind, operator: str | None) -> None:
    def function(task: str) -> None: ...

    text = "a" if operator is None else f"{DEFAULT_OPERATOR[kind]}(a, *)"

    assert bound(kind, text, {"a": function}) is function


@pytest.mark.parametrize(
    ("kind", "neutral"),
    [(VERDICT, ()), (NUMBER, 0), (VALUE, None), (COMPARISON, 0), (BOOLEAN, True), (SET, frozenset())],
)
def test_where_nobody_answers_the_default_expression_is_neutral(kind: Kind, neutral: Any) -> None:
    assert (answer(kind, default_text(kind), NOBODY), answer(kind, "*", NOBODY)) == (neutral, neutral)


@pytest.mark.parametrize(
    ("kind", "text", "answers", "expected"),
    [
        (NUMBER, "sum(weight(gone, 100), a)", {"a": 3}, 3),
        (NUMBER, "max(weight(gone, 100), a)", {"a": -3}, -3),
        (NUMBER, "min(sum(gone, lost), a)", {"a": 3}, 3),
        (NUMBER, "sum(weight(gone, 100), weight(lost, 2))", NOBODY, 0),
        (VERDICT, "or(gone, a)", {"a": "full"}, ("full",)),
        (VERDICT, "or(a, and(*))", {"a": "full"}, ("full",)),
        (SET, "intersect(gone, a)", {"a": {"v"}}, {"v"}),
        (SET, "intersect(gone, lost)", NOBODY, frozenset()),
        (NUMBER, "gone", {"a": 3}, 0),
        (NUMBER, "sum(gone, *)", {"a": 3}, 3),
    ],
)
def test_who_is_left_out_counts_for_nothing(kind: Kind, text: str, answers: Mapping[str, Any], expected: Any) -> None:
    assert answer(kind, text, answers, strict=False) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sum(c, a)", "ca"),
        ("sum(c, *)", "cab"),
        ("sum(*, c)", "abc"),
        ("max(sum(c, b), sum(c, *))", "cba"),
        ("sum(weight(b, 2), gone)", "b"),
        ("sum(*, *)", "abc"),
    ],
)
def test_a_combination_tells_whom_it_asks_each_once_and_in_order(text: str, names: str) -> None:
    combination = compile_expression(parse(text), NUMBER, "tn.order", ("a", "b", "c"), strict=False)

    assert combination.names == tuple(names)


@pytest.mark.parametrize(
    ("text", "line", "column", "fragment"),
    [
        ("", 1, 1, "found the end, expected a plugin, an operator or '*'"),
        ("  \n ", 2, 2, "found the end"),
        ("sum()", 1, 5, "found ')', expected a plugin"),
        ("sum(a, )", 1, 8, "found ')', expected a plugin"),
        ("sum(a", 1, 6, "found the end, expected ',' or ')'"),
        ("sum(a b)", 1, 7, "found 'b', expected ',' or ')'"),
        ("sum(a) b", 1, 8, "found 'b', expected the end"),
        ("sum(a))", 1, 7, "found ')', expected the end"),
        ("sum(\n  a,\n  (b))", 3, 3, "found '(', expected a plugin"),
        ("sum(\n  a,\n  %)", 3, 3, "found '%'"),
        ("7", 1, 1, "found '7', expected a plugin"),
        ("sum(a, 2)", 1, 8, "found '2', expected a plugin"),
        ("sum(a, 2nd)", 1, 8, "found '2nd'"),
        ("sum(a, -b)", 1, 8, "found '-'"),
        ("sum(a, \N{NO-BREAK SPACE}b)", 1, 8, "found '\\xa0'"),
        ("sum(\N{GREEK SMALL LETTER ALPHA})", 1, 5, "found '\N{GREEK SMALL LETTER ALPHA}'"),
        ("*(a)", 1, 2, "found '(', expected the end"),
        ("weight(a)", 1, 9, "found ')', expected ',' and a number"),
        ("weight(a, b)", 1, 11, "found 'b', expected a number"),
        ("weight(a, 1, 2)", 1, 12, "found ',', expected ')'"),
        ("weight(a, 1.2345)", 1, 11, "found '1.2345', expected a number with at most three decimals"),
        ("weight(a, 1.)", 1, 11, "found '1.'"),
        ("weight(a, .5)", 1, 11, "found '.'"),
        ("weight(a, 1e3)", 1, 11, "found '1e3'"),
        ("weight(a, --1)", 1, 11, "found '-'"),
        (
            "a" * (MAX_LENGTH + 1),
            1,
            MAX_LENGTH + 1,
            f"found {MAX_LENGTH + 1} characters, expected at most {MAX_LENGTH}",
        ),
        (
            "sum(" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
            1,
            4 * MAX_NESTING + 1,
            f"found 'sum', expected at most {MAX_NESTING} operators inside each other",
        ),
    ],
)
def test_bad_syntax_is_refused_where_it_stands(text: str, line: int, column: int, fragment: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)

    assert (refused.value.line, refused.value.column) == (line, column)
    assert refused.value.message.startswith(fragment)
    assert str(refused.value) == f"line {line}, column {column}: {refused.value.message}"


@pytest.mark.parametrize(
    ("kind", "text", "line", "column", "message"),
    [
        (NUMBER, "sum(a, x)", 1, 8, "found 'x', expected a plugin that answers at here: a, b"),
        (NUMBER, "sum(a,\n    weight(x, 2))", 2, 12, "found 'x', expected a plugin that answers at here: a, b"),
        (NUMBER, "x", 1, 1, "found 'x', expected a plugin that answers at here: a, b"),
        (NUMBER, "sum", 1, 1, "found 'sum', expected a plugin that answers at here: a, b"),
        (
            NUMBER,
            "sum(a, joint(b))",
            1,
            8,
            "found 'joint', expected an operator over numbers, as here has them: sum, min, max, weight",
        ),
        (
            NUMBER,
            "Sum(a)",
            1,
            1,
            "found 'Sum', expected an operator over numbers, as here has them: sum, min, max, weight",
        ),
        (
            VERDICT,
            "and(a, weight(b, 2))",
            1,
            8,
            "found 'weight', expected an operator over verdicts, as here has them: and, or, joint, firstNotPass",
        ),
        (SET, "and(x)", 1, 1, "found 'and', expected an operator over sets, as here has them: intersect, union"),
    ],
)
def test_what_does_not_fit_the_point_is_refused_where_it_stands(
    kind: Kind, text: str, line: int, column: int, message: str
) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(parse(text), kind, "here", ("a", "b"), strict=True)

    assert (refused.value.line, refused.value.column, refused.value.message) == (line, column, message)


def test_where_nobody_answers_a_name_is_refused_with_that() -> None:
    with pytest.raises(ExpressionError, match=r"a plugin that answers at tn\.best: none is enabled"):
        compile_expression(parse("or(a)"), VALUE, "tn.best", (), strict=True)


LEGAL = {
    "and": {VERDICT, BOOLEAN},
    "or": {VERDICT, BOOLEAN, VALUE},
    "joint": {VERDICT},
    "firstNotPass": {VERDICT},
    "intersect": {SET},
    "union": {SET},
    "sum": {NUMBER},
    "min": {NUMBER},
    "max": {NUMBER},
    "weight": {NUMBER},
    "first": {COMPARISON},
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("operator", LEGAL)
def test_an_operator_stands_only_at_points_of_its_types(operator: str, kind: Kind, strict: bool) -> None:
    expression = parse(f"{operator}(a, 2)" if operator == "weight" else f"{operator}(a)")

    if kind in LEGAL[operator]:
        compile_expression(expression, kind, "here", ("a",), strict=strict)
    else:
        with pytest.raises(ExpressionError, match=f"found '{operator}'"):
            compile_expression(expression, kind, "here", ("a",), strict=strict)


def test_the_deepest_and_longest_text_allowed_is_read() -> None:
    text = "sum(" * MAX_NESTING + "a" + ")" * MAX_NESTING

    assert answer(NUMBER, text.ljust(MAX_LENGTH), {"a": 3}) == 3


def test_a_text_may_run_over_several_lines() -> None:
    text = """
        sum(
            weight(rack-aware, 2),\t\r
            v1.affinity , *
        )
    """

    assert answer(NUMBER, text, {"x_3": 1, "rack-aware": 10, "v1.affinity": 100}) == 121


Shape: TypeAlias = Any
"""A tree without positions: "a", "*", ("sum", [...]) or (tree, thousandths)."""

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,5}", fullmatch=True)
SHAPES: st.SearchStrategy[Shape] = st.recursive(
    NAMES | st.just("*"),
    lambda below: (
        st.tuples(NAMES.filter(lambda name: name != "weight"), st.lists(below, min_size=1, max_size=4))
        | st.tuples(below, st.integers(-(10**6), 10**6))
    ),
    max_leaves=12,
)


def tokens(shape: Shape) -> list[str]:
    match shape:
        case str(name):
            return [name]
        case (shape, int(thousandths)):
            whole, decimals = divmod(abs(thousandths), 1000)
            return ["weight", "(", *tokens(shape), ",", f"{'-' * (thousandths < 0)}{whole}.{decimals:03}", ")"]
        case (operator, arguments):
            between = [token for argument in arguments for token in (",", *tokens(argument))]
            return [operator, "(", *between[1:], ")"]
    raise AssertionError(shape)


def shape_of(node: Node) -> Shape:
    match node:
        case Name(name=name):
            return name
        case Star():
            return "*"
        case Weight(argument=argument, thousandths=thousandths):
            return (shape_of(argument), thousandths)
        case Call(operator=operator, arguments=arguments):
            return (operator, [shape_of(argument) for argument in arguments])


@given(SHAPES, st.data())
def test_what_is_written_is_read_back(shape: Shape, data: st.DataObject) -> None:
    space = st.sampled_from(["", " ", "\n", "\t\n  "])
    text = "".join(data.draw(space) + token for token in tokens(shape)) + data.draw(space)

    assert shape_of(parse(text).root) == shape


def refusal_of(text: str) -> ExpressionError | None:
    try:
        parse(text)
    except ExpressionError as refusal:
        return refusal
    return None


@given(st.text(alphabet="ab*(),-+.019 \nweight", max_size=30))
def test_any_text_is_read_or_refused_at_a_place_within_it(text: str) -> None:
    lines = text.split("\n")
    if refusal := refusal_of(text):
        assert 1 <= refusal.line <= len(lines)
        assert 1 <= refusal.column <= len(lines[refusal.line - 1]) + 1


def test_every_point_has_a_default_that_fits_it() -> None:
    assert list(DEFAULTS) == list(POINTS)
    for point, text in DEFAULTS.items():
        compile_expression(parse(text), POINTS[point], point, ("a",), strict=False)


@pytest.mark.parametrize(
    ("point", "answers", "expected"),
    [
        ("qn.order", {"sylas": -1, "binpack": 2, "topology": 3, "nodeorder": 4, "mine": 5}, -70),
        ("tn.order", {"sylas": -1, "binpack": 2, "topology": 3, "nodeorder": 4, "mine": 5}, -76),
        ("tq.order", {"quotaaffinity": 100, "mine": 5}, 105),
        ("qn.predicate", {"predicates": "full", "topology": "broken"}, ("full", "broken")),
        ("jobEnqueueable", {"jobqueue": "closed", "backoff": "waiting"}, ("waiting",)),
        ("quotaAllocate", {"gang": "too few", "topology": "scattered"}, ("too few",)),
        ("reclaimable", {"conformance": {"v", "w"}, "sylas": {"w"}, "mine": set()}, {"w"}),
        ("qn.best", {"topology": None, "mine": "n1"}, "n1"),
        ("jobOrder", {"jobqueue": 0, "priority": -1, "gang": 1}, -1),
        ("jobReady", {"gang": True, "mine": False}, False),
    ],
)
def test_the_defaults_decide(point: str, answers: Mapping[str, Any], expected: Any) -> None:
    assert answer(POINTS[point], DEFAULTS[point], answers, strict=False) == expected


def test_a_synonym_is_no_point_of_its_own() -> None:
    assert SYNONYMS["preemptable"] == "reclaimable"
    assert not SYNONYMS.keys() & POINTS.keys()
    assert set(SYNONYMS.values()) <= POINTS.keys()
