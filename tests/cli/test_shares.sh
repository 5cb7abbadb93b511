#!/usr/bin/env bash
# Shares of a GPU's SMs from the shell: `predict --sm-share`, shares by name, and bad input.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
predict() { "$ROOFTILE" predict -p roofline "$@"; }

succeeds "a curve" predict --gpu V100-PCIE-32GB -m resnet50 --batch 4 --sm-share 10:100:10
holds "says what it is" "on shares of SMs under MPS" stdout
holds "has a knee" "Knee: " stdout
succeeds "its JSON" predict --gpu V100-PCIE-32GB -m resnet50 --batch 1,8 --sm-share 10:100:10 --json
cp stdout curve.json
succeeds "the whole" predict --gpu V100-PCIE-32GB -m resnet50 --batch 8 --json
cp stdout whole.json
succeeds "a share by name" predict --gpu "V100-PCIE-32GB (24 of 80 SMs)" -m resnet50 --batch 8 --json
cp stdout share.json
cat >check.py <<'END'
import json
r = json.load(open("curve.json"))
whole, share = (json.load(open(n + ".json"))["forecasts"][0] for n in ("whole", "share"))
assert r["share_by"] == "mps" and r["within_pct"] == 5 and [c["batch"] for c in r["curves"]] == [1, 8]
c = r["curves"][1]
assert c["whole_ms"] == whole["total_ms"] == c["points"][-1]["total_ms"] and c["points"][-1]["over_whole"] == 1
assert share["gpu"] == "Tesla V100-PCIE-32GB (24 of 80 SMs)" and share["total_ms"] == c["points"][2]["total_ms"]
times = [p["total_ms"] for p in c["points"]]
assert times == sorted(times, reverse=True) and [p["sms"] for p in c["points"]] == list(range(8, 81, 8))
assert c["knee"]["total_ms"] <= 1.05 * c["whole_ms"]
END
succeeds "agree" python3 check.py
succeeds "green contexts" predict --gpu H100 -m gpt2-large --dtype fp16 --sm-share 10,50,100 --share-by green --within 20 --json
cp stdout green.json
succeeds "come by eights" python3 -c "
import json
c = json.load(open('green.json'))['curves'][0]
assert [p['sms'] for p in c['points']] == [16, 72, 132] and c['knee']['sms'] % 8 in (0, 4)"

refuses "no share of 0" 2 "--sm-share 0: 0 is no share" predict --gpu T4 -m resnet50 --sm-share 0
refuses "nor of 200" 2 "--sm-share 200: 200 is no share" predict --gpu T4 -m resnet50 --sm-share 200
refuses "no range without a step" 2 'FROM:TO:STEP such as 10:100:10' predict --gpu T4 -m resnet50 --sm-share 10:100
refuses "a limit of no shares" 2 "--share-by and --within are for --sm-share" predict --gpu T4 -m resnet50 --within 3
refuses "a kind that is none" 2 "--share-by mig: choose mps or green" predict --gpu T4 -m resnet50 --sm-share 50 --share-by mig
refuses "a trace of many" 2 "--trace shows one forecast" predict --gpu T4 -m resnet50 --sm-share 50 --trace t.json
refuses "a share of another GPU's SMs" 2 "Tesla T4 has 40 SMs" predict --gpu "T4 (10 of 80 SMs)" -m resnet50
refuses "a share of too many" 2 "so give 1 to 40" predict --gpu "T4 (41 of 40 SMs)" -m resnet50
refuses "a GPU without the dtype" 1 "fp8" predict --gpu V100-PCIE-32GB -m gpt2-large --dtype fp8 --sm-share 50

finish
