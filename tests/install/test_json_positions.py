"""The parser agrees with Python's own, and knows where everything stands."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionlog.install.json_positions import MAX_DEPTH, InvalidJSON, Node, parse, position

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def render(value: Any, chance: random.Random) -> str:
    """JSON for a value, with white space wherever JSON allows it."""

    def space() -> str:
        return "".join(chance.choices(" \t\r\n", k=chance.choice([0, 0, 0, 1, 3])))

    if isinstance(value, dict):
        pairs = (f"{space()}{render(k, chance)}{space()}:{render(v, chance)}" for k, v in value.items())
        text = "{" + (",".join(pairs) or space()) + "}"
    elif isinstance(value, list):
        text = "[" + (",".join(render(item, chance) for item in value) or space()) + "]"
    else:
        text = json.dumps(value, ensure_ascii=chance.random() < 0.5)
    return space() + text + space()


def nodes(node: Node) -> list[Node]:
    below = [*node.members().values(), *node.items()]
    return [node, *(deeper for child in below for deeper in nodes(child))]


def strictly(text: str) -> Any:
    """json.loads without its liking for NaN and Infinity."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    return json.loads(text, parse_constant=refuse)


@given(VALUES, st.randoms(use_true_random=False))
def test_every_value_is_found_where_it_stands(value: Any, chance: random.Random) -> None:
    text = render(value, chance)
    root = parse(text)
    assert root.value == value == json.loads(text)
    for node in nodes(root):
        assert json.loads(text[node.start : node.end]) == node.value
        if node.key:
            assert json.loads(text[node.key.start : node.key.end]) == node.key.name


@given(VALUES, st.randoms(use_true_random=False), st.sampled_from(["", *'{}[],:"\\ 019-+.eEtfnN/\x00\ufeff']))
def test_damaged_text_is_refused_whenever_python_refuses_it(value: Any, chance: random.Random, put: str) -> None:
    text = render(value, chance)
    start = chance.randrange(len(text))
    damaged = text[:start] + put + text[start + chance.choice([0, 1]) :]
    try:
        expected = strictly(damaged)
    except ValueError:
        with pytest.raises(InvalidJSON) as refused:
            parse(damaged)
        assert 0 <= refused.value.offset <= len(damaged)
    else:
        assert parse(damaged).value == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ('{\n  "a": 1,\n}', 2, 9, "a comma before } is not allowed"),
        ("[1, 2,]", 1, 6, "a comma before ] is not allowed"),
        ("[1\n 2]", 2, 2, "a comma or ] is expected here"),
        ('{"a" 1}', 1, 6, "a colon is expected after the key"),
        ("{'a': 1}", 1, 2, "strings need double quotes"),
        ("{a: 1}", 1, 2, "a key in double quotes is expected here"),
        ('{\n  // why\n  "a": 1\n}', 2, 3, "JSON has no comments"),
        ('{"a": 1} # why', 1, 10, "JSON has no comments"),
        ("[1,, 2]", 1, 4, "a value is missing before this comma"),
        ('{"a": [1', 1, 9, "the text ends too early"),
        ('["a', 1, 2, "unterminated string"),
        ('["\t"]', 1, 3, "invalid control character"),
        ('["\\x"]', 1, 3, "invalid \\escape"),
        ('{"a": NaN}', 1, 7, "JSON has no NaN and no Infinity"),
        ("[-Infinity]", 1, 2, "JSON has no NaN and no Infinity"),
        ("", 1, 1, "the text is empty"),
        (" \n", 1, 1, "the text is empty"),
        ("{} {}", 1, 4, "there is more text after the end of the value"),
        ("\ufeff{}", 1, 1, "the text begins with a byte order mark (BOM)"),
        ("9" * 5000, 1, 1, "the number has too many digits"),
        ("[" * 5000, 1, MAX_DEPTH + 1, f"nested more than {MAX_DEPTH} levels deep"),
        ('{"a":' * 5000, 1, 5 * MAX_DEPTH + 1, f"nested more than {MAX_DEPTH} levels deep"),
    ],
)
def test_a_refusal_says_what_and_where(text: str, line: int, column: int, problem: str) -> None:
    with pytest.raises(InvalidJSON) as refused:
        parse(text)
    assert refused.value.position == (line, column)
    assert str(refused.value) == f"line {line}, column {column}: {problem}"


def test_of_two_equal_keys_the_last_counts_and_the_first_is_told() -> None:
    root = parse('{"a": 1, "b": 2, "a": 3}')
    assert root.value == {"a": 3, "b": 2}
    assert [(key.name, key.start, key.end) for key in root.overridden] == [("a", 1, 4)]


def test_a_path_leads_to_its_node_or_nowhere() -> None:
    root = parse('{"hooks": {"Stop": [{"hooks": []}]}}')
    found = root.get("hooks", "Stop", 0)
    assert found is not None and found.value == {"hooks": []}
    for path in (("nothing",), ("hooks", 0), ("hooks", "Stop", 1), ("hooks", "Stop", -1), ("hooks", "Stop", "0", "x")):
        assert root.get(*path) is None


def test_lines_and_columns_count_from_one_in_characters() -> None:
    text = '{\r\n  "工具": true}'
    assert [position(text, offset) for offset in (0, 5, 11)] == [(1, 1), (2, 3), (2, 9)]
