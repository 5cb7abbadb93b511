#!/usr/bin/env bash
# Power limits and clocks from the shell: `predict --power-limit`, `--clock`, and bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
predict() { "$ROOFTILE" predict -m bert-base-uncased --mode training --batch 8 --seq 128 "$@"; }

succeeds "a curve" predict --gpu V100-PCIE-32GB --power-limit 100:250:25
holds "says what it is" "under power limits" stdout
holds "names the least energy" "Least energy: " stdout
holds "and the least energy x time" "Least energy x time: " stdout
succeeds "its JSON" predict --gpu V100-PCIE-32GB --gpu A100-PCIE-40GB --power-limit 100:250:25 --json
cp stdout curve.json
succeeds "one limit" predict --gpu V100-PCIE-32GB --power-limit 125 --json
cp stdout limit.json
succeeds "the board's" predict --gpu V100-PCIE-32GB --power-limit 250 --json
cp stdout board.json
succeeds "none" predict --gpu V100-PCIE-32GB --json
cp stdout full.json
succeeds "a lower clock" predict --gpu V100-PCIE-32GB --clock 690 --json
cp stdout clock.json
cat >check.py <<'END'
import json
curve = json.load(open("curve.json"))
limit, board, full, clock = (json.load(open(n + ".json"))["forecasts"][0] for n in ("limit", "board", "full", "clock"))
near = lambda a, b: abs(a - b) <= 1e-6 * abs(b)
assert [c["gpu"] for c in curve["curves"]] == ["Tesla V100-PCIE-32GB", "NVIDIA A100-PCIE-40GB"]
c = curve["curves"][0]
p = c["points"]
assert [q["limit_w"] for q in p] == list(range(100, 251, 25))
assert all(q["watts"] <= q["limit_w"] for q in p) and all(a["total_ms"] >= b["total_ms"] for a, b in zip(p, p[1:]))
assert all(near(q["step_j"], q["watts"] * q["total_ms"] / 1e3) for q in p)
assert all(near(q["delay_product_js"], q["step_j"] * q["total_ms"] / 1e3) for q in p)
assert near(limit["total_ms"], p[1]["total_ms"]) and near(limit["energy"]["step_j"], p[1]["step_j"])
assert limit["energy"]["limit_w"] == 125 and full["energy"]["limit_w"] == 250
assert near(board["total_ms"], full["total_ms"]) and near(board["energy"]["step_j"], full["energy"]["step_j"])
assert c["full_ms"] == full["total_ms"] and c["board_w"] == 250
best = min(p, key=lambda q: q["step_j"])
assert c["least_energy"]["step_j"] <= 1.001 * best["step_j"] and c["least_energy"]["limit_w"] <= c["least_delay_product"]["limit_w"]
assert clock["total_ms"] > full["total_ms"] and clock["energy"]["watts"] < full["energy"]["watts"]
assert clock["energy"]["clock_mhz"] == 690
END
succeeds "agree" python3 check.py
succeeds "in a sweep" predict --gpu V100-PCIE-32GB --gpu T4 --power-limit 60
succeeds "with a timeline" predict --gpu T4 --power-limit 50 --trace t.json

refuses "no limit of 0" 2 "--power-limit 0: 0 is no power limit" predict --gpu T4 --power-limit 0
refuses "none at rest" 2 "at rest" predict --gpu T4 --power-limit 5
refuses "none above the board's" 2 "whose board has 70 W" predict --gpu T4 --power-limit 100
refuses "nor in a curve" 2 "a limit of 75 W is not one of Tesla T4" predict --gpu T4 --power-limit 50:100:25
refuses "no range without a step" 2 "FROM:TO:STEP such as 150:700:25" predict --gpu T4 --power-limit 50:70
refuses "no range downwards" 2 "a range goes up" predict --gpu T4 --power-limit 70:50:5
refuses "no words" 2 '"low" is no power limit' predict --gpu T4 --power-limit low
refuses "no clock above boost" 2 "boosts to 1590" predict --gpu T4 --clock 2000
refuses "no clock of 0" 2 "must be a number from 1" predict --gpu T4 --clock 0
refuses "no curve beside that of shares" 2 "curves of their own" predict --gpu T4 --power-limit 50 --sm-share 50
refuses "a trace of many" 2 "--trace shows one forecast" predict --gpu T4 --power-limit 50,60 --trace u.json
python3 - "$ROOFTILE_SOURCE/datasets/devices/t4.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
d.update(name="no power", aliases=[], power_w=None)
d.pop("sources")
json.dump(d, open("no_power.json", "w"))
END
refuses "no GPU without a board power" 1 "power_w=WATTS" predict --gpu no_power.json --power-limit 50

finish
