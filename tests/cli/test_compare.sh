# `rooftile compare`: datasets, predictors and GPUs beside each other, by numbers that are known.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all compare "no python3 to change a dataset with"
cd "$work" || exit 1
sample=$ROOFTILE_SOURCE/datasets/sample/synthetic.h5

# --- datasets: another driver, linear takes twice as long on one device, a call in ten is gone ---
"$ROOFTILE" dataset export "$sample" -o changed >/dev/null 2>&1
python3 - <<'P'
import csv
rows = list(csv.reader(open("changed/samples.csv")))
head, rows = rows[0], rows[1:]
op, device, times = head.index("op"), head.index("device"), [i for i, name in enumerate(head) if name.startswith("latency_")]
linear = [r for r in rows if r[op] == "linear" and r[device] == "synthetic large"]
for row in linear:
    for i in times:
        row[i] = repr(2 * float(row[i])) if row[i] else ""
rows = [r for r in rows if r not in linear[::10]]
csv.writer(open("changed/samples.csv", "w")).writerows([head, *rows])
open("changed/groups.csv", "a").write("0,driver,570.1\n")
P
succeeds "the changed one" "$ROOFTILE" dataset import --format csv changed -o changed.h5 --quiet
succeeds datasets "$ROOFTILE" compare "$sample" changed.h5 --json
json_is "twice the time" "[(k['both'], k['only_a'], round(k['ratio'], 9), round(k['ratio_p10'], 9)) for k in d['kernels'] if k['what'] == 'linear' and 'large' in k['device']]" "[(135, 15, 2.0, 2.0)]"
json_is "all else is as it was" "{round(k['ratio'], 9) for k in d['kernels'] if k['what'] != 'linear' or 'small' in k['device']}" "{1.0}"
json_is "the driver" "[(n['side'], n['value']) for n in d['differences'] if n['what'] == 'driver']" "[('B', '570.1')]"
succeeds "the other way round" "$ROOFTILE" compare changed.h5 "$sample" --json
json_is "half the time" "[(k['only_b'], round(k['ratio'], 9)) for k in d['kernels'] if k['what'] == 'linear' and 'large' in k['device']]" "[(15, 0.5)]"

# --- GPUs: one of twice everything is never slower, and takes half where its bandwidth bounds ---
succeeds GPUs "$ROOFTILE" compare H100 H100,sms=264,bandwidth_gbs=6700,l2_mib=100 -p roofline --json
json_is "no family is slower" "max(k['ratio_p90'] for k in d['kernels']) <= 1.0000001" True
json_is "half the time of decoding" "[round(s['ratio'], 2) for s in d['steps'] if s['mode'] == 'decode' and s['dtype'] == 'bf16'][0]" 0.5
json_is "what was doubled" "{f['field']: f['ratio'] for f in d['fields'] if f['field'] in ('sms', 'bandwidth_gbs')}" "{'sms': 2.0, 'bandwidth_gbs': 2.0}"
succeeds "a GPU and itself" "$ROOFTILE" compare H100 H100 -m gpt2 --json
json_is "nothing differs" "(d['fields'], {k['ratio'] for k in d['kernels']})" "([], {1.0})"

# --- predictors: a roofline is never slower than what was measured ---
succeeds predictors "$ROOFTILE" compare pretrained roofline --gpu H100 -m gpt2-large --json
json_is "bounds are below" "all(k['ratio'] < 1 for k in d['kernels'] if k['both'])" True
json_is "what was fitted" "[n['value'] for n in d['differences'] if n['what'] == 'kind']" "['rooftile', 'roofline']"

refuses kinds 2 "name two of a kind" "$ROOFTILE" compare H100 roofline
refuses one 2 "two datasets, predictors or GPUs" "$ROOFTILE" compare H100
refuses gpu 2 "--gpu is for two predictors" "$ROOFTILE" compare H100 B200 --gpu L4
refuses file 1 "nosuch.h5" "$ROOFTILE" compare "$sample" nosuch.h5
finish
