"""Does `rooftile plan` choose the cuts that measured runs show to be best?

    plan_silicon.py ROOFTILE RUNS.csv [-v] [--risk 0.9] [--gpu B200] [-p PREDICTOR]

RUNS.csv holds measured runs as scripts/corpora/aiconfigurator_serving.py --serving writes them. Runs of one model, server, GPU, element
types and lengths that differ in cut and users are a group; disaggregated ones, those apart (a note) and those whose server was told what
`plan` has no option for are left out. `rooftile plan --ramp 0s` forecasts each run with the load that was measured, all users at once; the
measured tokens/s of a GPU follow from the run's own TTFT and TPOT (users * osl / (TTFT + (osl - 1) TPOT) / GPUs). For every measured TPOT
of a group, plus 10 %, as a target:

    the plan chooses the run with the most forecast tokens/s a GPU among those whose forecast TPOT meets the target;
    regret: how much less it gives, as measured, than the best run whose measured TPOT meets it;
    missed: the measured TPOT of the chosen run is above the target (and it has no regret).

With --risk a forecast TPOT is the end of its interval that times stay below so often.

Rank correlation is Spearman's, over the runs of a group, of forecast and measured tokens/s of a GPU. Prints a row for each model, server and GPU."""
import collections
import csv
import math
import statistics
import subprocess
import sys
import tempfile

rooftile, path = sys.argv[1], sys.argv[2]


def option(name):
    return sys.argv[sys.argv.index(name) + 1:][:1] if name in sys.argv else []


risk, only, predictor = option("--risk"), option("--gpu"), option("-p")


def cut(row):
    return tuple(int(row[k] or 1) for k in ("tp", "ep", "attention_dp"))


def groups():
    found = collections.defaultdict(dict)
    for row in csv.DictReader(open(path)):
        alone = not any(row[k] for k in ("note", "decode_tp", "budget", "poll_steps", "gather_steps", "sequences", "dtype"))
        if not alone or not row["concurrency"] or int(row["pp"] or 1) != 1 or int(row["output"]) < 2 or (only and only[0] not in row["device"]):
            continue
        key = tuple(row[k] for k in ("model", "backend", "device", "quant", "kv_cache", "input", "output", "least"))
        found[key].setdefault((cut(row), int(row["concurrency"])), []).append((float(row["ttft_ms"]), float(row["tpot_ms"])))
    return {k: v for k, v in found.items() if len({c for c, _ in v}) > 1}


def forecast(key, runs):
    model, server, device, quant, cache, isl, osl, ratio = key
    with tempfile.NamedTemporaryFile(suffix=".csv") as out:
        command = [rooftile, "plan", "--model", model, "--gpu", device, "--server", server,
                   "--gpus", ",".join(str(n) for n in sorted({c[0] * c[2] for c, _ in runs})), "--isl", isl, "--osl", osl,
                   "--users", ",".join(str(n) for n in sorted({u for _, u in runs})), "--quantisation", quant or "bf16",
                   "--kv-cache", cache or "bf16", "--no-disaggregation", "--ramp", "0s", "--think", "0s", "--range-ratio", ratio or "1", "-q",
                   "--fallback", "--overwrite", "--csv", out.name, *(["-p", *predictor] if predictor else []), *(["--risk", *risk] if risk else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        table = {}
        for row in csv.DictReader(open(out.name)):
            if row["pp"] == "1" and row["tpot_p50_ms"]:
                key = ((int(row["tp"]), int(row["ep"]), int(row["attention_dp"])), int(row["users"]) // int(row["servers"]))
                worse = math.exp(float(row["half_width_ln"])) if risk else 1
                table[key] = (float(row["tpot_p50_ms"]) * worse, float(row["gpu_tokens_per_s"]))
        return table, None


def ranks(values):
    order = sorted(range(len(values)), key=lambda i: values[i])
    rank = [0.0] * len(values)
    for place, i in enumerate(order):
        rank[i] = float(place)
    return rank


def spearman(a, b):
    return statistics.correlation(ranks(a), ranks(b)) if len(a) > 2 and len(set(a)) > 1 and len(set(b)) > 1 else None


def main():
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for key, runs in sorted(groups().items()):
        table, why = forecast(key, runs)
        of = found[(key[0], key[1], key[2].split()[1])]
        if table is None:
            of["failed"].append(why)
            continue
        points = []
        for (c, users), times in runs.items():
            ttft, tpot = (statistics.mean(t[i] for t in times) for i in (0, 1))
            rate = 1e3 * users * int(key[6]) / (ttft + (int(key[6]) - 1) * tpot) / (c[0] * c[2])
            if (c, users) in table:
                points.append((c, tpot, rate, *table[c, users]))
            else:
                of["absent"].append((c, users))
        of["runs"].append(len(points))
        rho = spearman([p[2] for p in points], [p[4] for p in points])
        if rho is not None:
            of["rho"].append(rho)
        for target in sorted({1.1 * p[1] for p in points}):
            best = max((p for p in points if p[1] <= target), key=lambda p: p[2])
            fit = [p for p in points if p[3] <= target]
            if not fit:
                of["none"].append(1)
                continue
            chosen = max(fit, key=lambda p: p[4])
            missed = chosen[1] > target
            of["missed"].append(missed)
            of["same"].append(chosen[0] == best[0])
            if not missed:
                of["regret"].append(max(0.0, 1 - chosen[2] / best[2]))
    print("| model | server | GPU | groups | runs | rank correlation | targets | same cut % | regret %, median | regret %, mean | missed % | no choice |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    everything = collections.defaultdict(list)
    for name, of in list(sorted(found.items())) + [(("all", "", ""), everything)]:
        if of is not everything:
            for k, v in of.items():
                everything[k] += v
        if not of["regret"]:
            continue
        print(f"| {name[0]} | {name[1]} | {name[2]} | {len(of['runs'])} | {sum(of['runs'])} | {statistics.mean(of['rho'] or [float('nan')]):.2f} | "
              f"{len(of['missed'])} | {100 * statistics.mean(of['same']):.0f} | {100 * statistics.median(of['regret']):.1f} | "
              f"{100 * statistics.mean(of['regret']):.1f} | {100 * statistics.mean(of['missed']):.1f} | {len(of['none'])} |")
        if "-v" in sys.argv and (of["failed"] or of["absent"]):
            print(f"  failed: {of['failed'][:2]}; absent: {of['absent'][:6]} of {len(of['absent'])}", file=sys.stderr)


main()
