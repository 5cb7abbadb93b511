"""LLM servers under load: `rooftile simulate` as typed objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

from rooftile._forecast import Gpu, frame_of, html_table, spec_of
from rooftile._library import OptionValue, Text, report
from rooftile._objects import Predictor

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Latency:
    """Over all requests that count (between tokens: over all tokens), in milliseconds."""

    mean_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True)
class Rate:
    """A second; nine of ten lie between low and high (None: unknown)."""

    value: float
    low: Optional[float]
    high: Optional[float]


@dataclass(frozen=True)
class Serving:
    """A server under loads, `points`, a row each; of a single one `latencies` ("TTFT", "TPOT", "between tokens",
    "end to end", "in the queue") and `throughput` ("output tokens", "requests" ...), too. `raw` is all that
    `rooftile simulate --json` says."""

    model: str
    gpu: str
    gpus: int
    server: str
    latencies: Mapping[str, Latency]
    throughput: Mapping[str, Rate]
    points: Sequence[Mapping[str, Any]]
    raw: Mapping[str, Any] = field(repr=False)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each load of several; for each latency of one."""
        return frame_of(self.points if len(self.points) > 1 else self.points[0]["latencies"])

    def _repr_html_(self) -> str:
        if len(self.points) > 1:
            names = [name for name, value in self.points[0].items() if not isinstance(value, (Mapping, list))]
            return html_table(names, [[_rounded(point[name]) for name in names] for point in self.points])
        rows = [[name, *(f"{getattr(latency, column):.2f}" for column in Latency.__dataclass_fields__)]
                for name, latency in self.latencies.items()]
        rates = [[name, f"{rate.value:.1f}", _rounded(rate.low), _rounded(rate.high)]
                 for name, rate in self.throughput.items()]
        return (html_table(("ms", "mean", "p50", "p90", "p99", "max"), rows)
                + html_table(("a second", "value", "from", "to"), rates))


def _rounded(value: Any) -> Any:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else value


def _of(kind: Any, row: Mapping[str, Any]) -> Any:
    return kind(**{name: row.get(name) for name in kind.__dataclass_fields__})


def serve(model: Text, gpu: Gpu, *, isl: Union[None, int, str] = None, osl: Union[None, int, str] = None,
          concurrency: Union[None, int, Iterable[int]] = None, rate: Union[None, float, Iterable[float]] = None,
          tp: Optional[int] = None, server: Optional[str] = None, predictor: Union[Text, Predictor] = "pretrained",
          **options: OptionValue) -> Serving:
    """An LLM server simulated under a load: prompts of `isl` and outputs of `osl` tokens, from so many users at once
    (`concurrency`), or so many requests a second (`rate`). Lists of either are several loads. Other options of
    `rooftile simulate` go by their names with underscores: max_tokens=4096, kv_cache="fp8", trace="requests.csv"."""
    raw = report("serve", model=spec_of(model), gpu=gpu, predictor=predictor, isl=isl, osl=osl, concurrency=concurrency,
                 rate=rate, tp=tp, server=server, **options)
    points = raw["points"]
    only = points[0] if len(points) == 1 else {"latencies": [], "throughput": []}
    return Serving(model=raw["model"], gpu=raw["gpu"], gpus=raw["gpus"], server=raw["server"],
                   latencies={row["latency"]: _of(Latency, row) for row in only["latencies"]},
                   throughput={row["throughput"]: _of(Rate, row) for row in only["throughput"]}, points=points, raw=raw)
