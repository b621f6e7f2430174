from steelyard.metrics import Example, Required, Value, metric, missing, ratio


@metric(
    level="run",
    title="Fraction of output tokens",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="acme",
    formula="output_tokens / total_tokens",
    example=Example({"output_tokens": 30, "total_tokens": 120}, 0.25),
)
def output_fraction(*, output_tokens: Required, total_tokens: Required) -> Value:
    """How much of a run's tokens the model wrote itself."""
    return ratio(output_tokens, total_tokens, at_zero=missing("the run used no tokens"))
