# %% [markdown]
# # A first forecast
#
# How long does a model take on GPUs that are not in the room, and how far may that be off? Open this file as a notebook
# (VS Code, Jupyter with jupytext), or run it: `python3 docs/examples/first_forecast.py`. Pictures go into the folder
# `first_forecast`; they need matplotlib, tables need pandas. Without matplotlib rooftile's own page takes their place.

# %%
import sys
from pathlib import Path

import rooftile

OUT = Path("first_forecast")
MODEL = "gpt2-large"
GPUS = ["L4", "A100-40", "H100", "H200"]
BATCHES = [1, 2, 4, 8, 16, 32]
DATA = [argument for argument in sys.argv[1:] if argument.endswith(".h5")]  # measured kernels of your own
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]  # Okabe and Ito's, which colour-blind readers tell apart

try:
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.rcParams.update({"figure.dpi": 120, "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                                "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True})
except ImportError:
    plt = None
OUT.mkdir(exist_ok=True)


def save(figure, name):
    figure.savefig(OUT / name, bbox_inches="tight")
    print(OUT / name)


# %% [markdown]
# ## One step
#
# The time with the interval that nine of ten measurements lie in, the energy, the memory, and what it is made of.

# %%
step = rooftile.forecast(MODEL, "H100", batch=8, dtype="bf16")
print(step)
print(f"{step.energy.step_j:.1f} J a step, {step.energy.watts:.0f} W; {step.memory.used_gib:.1f} GiB")
step  # a notebook shows its table

# %%
print(step.to_frame()[["op", "launches", "time_ms", "share_pct", "bound", "source"]].head(8).round(1).to_string(index=False))


def ops_picture(step):
    ops = step.ops[:8][::-1]
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    colours = [COLOURS[op.bound == "memory"] for op in ops]
    axes.barh([op.op for op in ops], [op.time_ms for op in ops], color=colours)
    axes.set(xlabel="ms of a step", title=f"{step.model}, {step.batch} x {step.sequence}, {step.dtype}, on {step.gpu}")
    axes.grid(axis="y", visible=False)
    axes.legend([plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS[:2]],
                ["bound by compute", "bound by memory"], loc="lower right")
    return figure


if plt is not None:
    save(ops_picture(step), "ops.png")

# %% [markdown]
# ## Several GPUs and batches
#
# A sweep is one call: every kernel of all of them is asked for once.

# %%
sweep = rooftile.sweep(MODEL, GPUS, batch=BATCHES, dtype="bf16")
frame = sweep.to_frame()
print(frame.pivot(index="batch", columns="gpu", values="time_ms").round(1).to_string())


def sweep_picture(frame):
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for colour, (gpu, rows) in zip(COLOURS, frame.groupby("gpu", sort=False)):
        axes.fill_between(rows["batch"], rows["low_ms"], rows["high_ms"], color=colour, alpha=0.15, linewidth=0)
        axes.plot(rows["batch"], rows["time_ms"], "o-", color=colour, label=gpu, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="sequences of 1024 tokens", ylabel="ms of a step",
             title=f"{MODEL}, inference, bf16; bands hold nine of ten")
    axes.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
    axes.minorticks_off()
    axes.set_yticks([10, 30, 100, 300, 1000], ["10", "30", "100", "300", "1000"])
    axes.legend(frameon=False)
    return figure


if plt is not None:
    save(sweep_picture(frame), "gpus.png")
else:
    rooftile.sweep(MODEL, GPUS, batch=BATCHES, dtype="bf16", report=OUT / "gpus.html", overwrite=True)
    print(OUT / "gpus.html")

# %% [markdown]
# ## Hardware that is not there
#
# Any number of a GPU can be changed: what would half the multiprocessors cost, what would more bandwidth bring?

# %%
for gpu in ("H100", "H100,sms=66", "H100,bandwidth_gbs=4800"):
    print(f"{gpu:26} {rooftile.forecast(MODEL, gpu, batch=8, dtype='bf16').time_ms:8.2f} ms")

# %% [markdown]
# ## Forecast beside measured
#
# `DATA` are measurements of kernels (`rooftile collect`, `rooftile dataset import`). Without any, the table here is of
# the few made-up kernels that rooftile's tests use: it shows what the columns are, not how right a forecast is.

# %%
KIND = "measured" if DATA else "made up"
if not DATA:
    made_up = Path(__file__).resolve().parents[2] / "tests" / "data" / "neusight_mini"
    DATA = [str(OUT / "made_up.h5")]
    rooftile.report("dataset import", made_up, format="neusight", output=DATA[0], overwrite=True)
evaluation = rooftile.evaluate(DATA, split="all", no_baseline=True)
rows = evaluation.to_frame()
print(rows[["device", "op", "measured_us", "forecast_us", "error_pct"]].round(1).head(8).to_string(index=False))
print(evaluation.summary_frame()[["op", "device", "n", "mape", "bias"]].round(1).to_string(index=False))


def errors_picture(rows):
    figure, axes = plt.subplots(figsize=(4.8, 4.4))
    ends = [rows[["measured_us", "forecast_us"]].min().min() / 2, rows[["measured_us", "forecast_us"]].max().max() * 2]
    axes.plot(ends, ends, color="0.5", linewidth=1)
    axes.fill_between(ends, [0.9 * end for end in ends], [1.1 * end for end in ends], color="0.5", alpha=0.2,
                      linewidth=0, label="within 10%")
    for i, (op, part) in enumerate(rows.groupby("op")):
        axes.plot(part["measured_us"], part["forecast_us"], "os^Dv<>p*h"[i % 10], color=COLOURS[i % 4], label=op)
    axes.set(xscale="log", yscale="log", xlabel=f"{KIND}, us", ylabel="forecast, us", xlim=ends, ylim=ends,
             title=f"{len(rows)} kernels, {KIND}", aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


if plt is not None:
    save(errors_picture(rows), "errors.png")
