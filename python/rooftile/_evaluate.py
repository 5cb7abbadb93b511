"""Forecasts beside measurements: `rooftile evaluate` as frames."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Union

from rooftile._forecast import frame_of, html_table
from rooftile._library import OptionValue, Text, report
from rooftile._objects import Predictor

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Evaluation:
    """Every row that was judged, and errors of pools of them, in percent of what was measured.

    Rows of kernels: device, op, dtype, dims, measured_us, forecast_us, error_pct, held_out ...; of whole models
    (workloads=True): device, model, mode, batch, measured_ms, forecast_ms, error_pct ... `forecasts` and `errors_pct`
    of a row are those of further predictors. `raw` is all that `rooftile evaluate --json` says.
    """

    rows: Sequence[Mapping[str, Any]]
    summary: Sequence[Mapping[str, Any]]  # kernels: by op over all devices; runs: by device and mode
    by: Mapping[str, Sequence[Mapping[str, Any]]]  # of every `by`: a line for each value
    raw: Mapping[str, Any] = field(repr=False)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each kernel or run."""
        return frame_of(self.rows)

    def summary_frame(self, by: Optional[str] = None) -> pandas.DataFrame:
        """A row for each pool: n, mape, median, p90, bias ...; of one `by` where it is named."""
        return frame_of(self.summary if by is None else self.by[by])

    def __repr__(self) -> str:
        return f"rooftile.Evaluation of {len(self.rows)} rows"

    def _repr_html_(self) -> str:
        columns = [name for name in ("op", "device", "mode", "predictor", "n", "mape", "median", "p90", "bias")
                   if self.summary and name in self.summary[0]]
        rows = [[f"{row[name]:.1f}" if isinstance(row[name], float) else row[name] for name in columns]
                for row in self.summary]
        return html_table(columns, rows)


def evaluate(data: Union[Text, Iterable[Text]], *,
             predictor: Union[Text, Predictor, Iterable[Union[Text, Predictor]]] = "pretrained",
             by: Union[None, str, Iterable[str]] = None, workloads: bool = False,
             **options: OptionValue) -> Evaluation:
    """How far forecasts are from the measurements in datasets: of their kernels, or of whole models (workloads=True).

    Other options of `rooftile evaluate` go by their names: split="all", gpu="A100", op=["linear", "bmm"],
    no_baseline=True, threads=4, report="a100.html".
    """
    operands = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    raw = report("evaluate", *operands, predictor=predictor, by=by, workloads=workloads, each=not workloads, **options)
    return Evaluation(rows=raw["rows"] if workloads else raw["each"], summary=raw["summary" if workloads else "pooled"],
                      by=raw.get("by") or {}, raw=raw)
