"""List metrics and their formulas, or show one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UnknownNameError
from steelyard.formatting import counted
from steelyard.metrics import Metric, catalog
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, doc, plain_question

if TYPE_CHECKING:
    from steelyard.pages import Page

Scalar: TypeAlias = bool | float | str


class MetricsOptions(Options):
    """Options of `metrics`."""

    name: str | None = doc("Metric to show.", default=None, kw_only=False)
    spec: str | None = doc(
        "Only metrics of this specification: outcome, repeatability, speedup or arena.", default=None
    )


class MetricBounds(NamedTuple):
    """Range of a metric."""

    low: float
    high: float


class MetricExample(Part, frozen=True, kw_only=True):
    """Worked example."""

    inputs: dict[str, Scalar | tuple[Scalar, ...]]
    result: float | None
    """None if the metric is missing for these inputs."""


class MetricInfo(Part, frozen=True, kw_only=True):
    """Declaration of a metric."""

    name: str
    title: str
    meaning: str
    specification: str
    level: str
    """What has a value: a run, a prompt, a task, a benchmark, a submission, a group or a tier."""
    unit: str
    better: str
    """Direction that is better: higher, lower or neither."""
    bounds: MetricBounds
    binary: bool
    """Whether values are always 0 or 1, so that the mean is a proportion."""
    formula: str
    inputs: tuple[str, ...]
    """Fields and metrics in the formula."""
    constants: dict[str, float]
    """Constants in the formula, with the values that apply unless the profile has others."""
    example: MetricExample


class Metrics(Answer, frozen=True, kw_only=True):
    """Metrics with meaning, unit, range and formula."""

    rows: ClassVar[Rows] = Rows("metrics", without=("constants", "example"))
    metrics: tuple[MetricInfo, ...]
    """Metrics by specification, level and name; only the requested one if a name was given."""

    @property
    def about(self) -> str:
        """Number of metrics."""
        return counted(len(self.metrics), "metric")


@plain_question(MetricsOptions, examples=({"name": "cost_of_pass"}, {"spec": "repeatability"}))
def metrics(options: MetricsOptions) -> Metrics:
    """Return the declared metrics.

    >>> metrics("cost_of_pass").metrics[0].formula
    'mean cost_usd / mean pass_rate; infinite without a pass'
    """
    known = catalog()
    specs = {metric.spec for metric in known.values()}
    if options.spec is not None and options.spec not in specs:
        raise UnknownNameError("specification", options.spec, specs)
    chosen = known.values() if options.name is None else [known[options.name]]
    return Metrics(
        metrics=tuple(
            _info(metric)
            for metric in sorted(chosen, key=lambda metric: (metric.spec, metric.level, metric.name))
            if options.spec in (None, metric.spec)
        )
    )


def _info(metric: Metric) -> MetricInfo:
    example = metric.example
    return MetricInfo(
        name=metric.name,
        title=metric.title,
        meaning=metric.doc,
        specification=metric.spec,
        level=metric.level,
        unit=metric.unit,
        better=metric.better,
        bounds=MetricBounds(*map(float, metric.bounds)),
        binary=metric.binary,
        formula=metric.formula,
        inputs=tuple(metric.inputs),
        constants=dict(metric.constants),
        example=MetricExample(
            inputs={name: tuple(value) if isinstance(value, list) else value for name, value in example.inputs.items()},
            result=example.result,
        ),
    )


def page(answer: Metrics) -> Page:
    """Return one row per metric, or the fields of one."""
    shapes = answer.to_dict()["metrics"]
    columns = ("name", "title", "specification", "level", "unit", "better", "bounds", "formula")
    return pages.catalog_page(
        "metrics",
        title="What does each metric mean?",
        answer=f"{answer.about} of {counted(len({each.specification for each in answer.metrics}), 'specification')}.",
        entries=[shape | _bounds(metric) for metric, shape in zip(answer.metrics, shapes, strict=True)],
        columns=dict(zip(columns, (0, 6, 5, 1, 2, 3, 4, 0), strict=True)),
    )


def _bounds(metric: MetricInfo) -> dict[str, str]:
    low, high = (pages.number_shown(bound, 0) for bound in metric.bounds)
    return {"bounds": f"{low} or {high}" if metric.binary else f"{low} to {high}"}
