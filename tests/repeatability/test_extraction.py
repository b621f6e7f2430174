from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from programs import programs

from steelyard.questions.repeatability._source_code import extract_code


@pytest.mark.parametrize(
    ("answer", "code", "rule"),
    [
        ("Sure!\n```python\nx = 1\n```\nDone.", "x = 1", "labeled_fence"),
        ("```\nx = 1\n```", "x = 1", "bare_fence"),
        ("```js\nlet a\n```\n```py\nx = 1\n```", "x = 1", "labeled_fence"),
        ("```text\nx = 1\n```", "x = 1", "other_fence"),
        ("~~~python\nx = 1\n~~~", "x = 1", "labeled_fence"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''", "labeled_fence"),
        ("```python\nimport re\n```\nthen\n```python\nx = re\n```", "import re\n\nx = re", "labeled_fence"),
        ("```python\ndef f(:\n```\nrather\n```python\nx = 1\n```", "x = 1", "labeled_fence"),
        ("```python\nx = 1", "x = 1", "labeled_fence"),
        ("x = 1\n", "x = 1\n", "whole"),
        ("Here it is:\n\ndef f(x):\n    return x\n\nIt returns x.", "def f(x):\n    return x", "lines"),
        ("no code here at all, sorry", "no code here at all, sorry", "whole"),
        ("", "", "whole"),
        ("```python\r\nx = 1\r\n```", "x = 1", "labeled_fence"),
    ],
)
def test_the_rule_chooses_the_program(answer: str, code: str, rule: str) -> None:
    found = extract_code(answer)
    assert (found.code, found.rule) == (code, rule)


def test_for_other_languages_the_longest_block_is_taken() -> None:
    answer = "```js\nlet a\n```\n```javascript\nlet b = 1; let c\n```"
    assert extract_code(answer, language="javascript").code == "let b = 1; let c"


@settings(max_examples=30, deadline=None)
@given(programs(), st.sampled_from(["python", "py", "Python3", ""]))
def test_a_program_in_a_fence_comes_out_as_it_went_in(code: str, label: str) -> None:
    body = code.rstrip("\n")
    assert extract_code(f"Here:\n\n```{label}\n{body}\n```\n\nThat is all.").code == body


@given(st.text(max_size=200))
def test_any_text_gives_some_code(answer: str) -> None:
    assert isinstance(extract_code(answer).code, str)
