"""Samples of a model: each is a request of its own, and those that failed are counted beside those that answered."""

from __future__ import annotations

from pathlib import Path

import steelyard as sy
from steelyard.runner._scripted import ScriptedModel

PLAN = """
[plan]
name = "samples"
attempts = 4
retries = 0
[endpoints.e]
kind = "chat"
url = "{url}"
[[tasks]]
id = "greet"
prompt = "Say hello."
contract = "contract.toml"
[[agents]]
use = "model"
models = ["m"]
settings = [{{ temperature = 0.0, seed = 7 }}, {{ temperature = 1.0 }}]
"""
CONTRACT = 'id = "greet"\nentry_point = "greet"\n[[cases]]\narguments = []\nexpected = "hello"\n'
SCRIPT = """
[[answers]]
when = ["temperature=0.0", "seed=7"]
text = ["def greet():\\n    return 'hello'\\n"]
[[answers]]
status = 500
text = ["out of order"]
"""


class Counting(ScriptedModel):
    """A scripted model that counts its requests."""

    count = 0

    def answer(self, request: str) -> tuple[int, str]:
        self.count += 1
        return super().answer(request)


def test_asked_answered_and_failed_samples_are_shown_by_setting(tmp_path: Path) -> None:
    (tmp_path / "contract.toml").write_text(CONTRACT)
    (tmp_path / "model.toml").write_text(SCRIPT)
    with Counting(tmp_path / "model.toml") as model:
        (tmp_path / "plan.toml").write_text(PLAN.format(url=model.url))
        sy.run(tmp_path / "plan.toml", out=tmp_path / "runs")
        assert model.count == 8  # nothing is answered from a cache, equal as the requests are
    repeated = sy.repeatability(tmp_path / "runs", contract=tmp_path / "contract.toml", by="task,x_setting")
    told = {prompt.key["x_setting"]: prompt for prompt in repeated.prompts}
    cold, warm = told["seed=7,temperature=0.0"], told["temperature=1.0"]
    assert (cold.n, cold.failed, cold.metrics["r_raw"]) == (4, 0, 1.0)
    assert (warm.n, warm.failed) == (0, 4)
    assert [finding.message for finding in repeated.findings if finding.code == "failed_samples"] == [
        "4 of 4 samples failed without an output and are not compared"
    ]
    assert cold.samples[0].compliant_pre is True
