# `rooftile dataset` and `rooftile devices`: import, info, export and back, merge, validate, --json, --help.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
mini="$ROOFTILE_SOURCE/tests/data"
export SOURCE_DATE_EPOCH=1700000000
cd "$work"


succeeds import_neusight "$ROOFTILE" dataset import --format neusight "$mini/neusight_mini" -o n.h5
holds import_prints_rows "bmm        Tesla T4" "$work/stdout"
holds import_prints_others "forecasts of others" "$work/stdout"
holds import_prints_clash "bandwidth_gbs is 300 in one description and 320 in the other" "$work/stdout"
holds import_prints_speed "MB/s" "$work/stdout"
succeeds import_json "$ROOFTILE" dataset import -f neusight "$mini/neusight_mini" -o again.h5 --json --quiet --threads 1
json_is import_total "d['total']['read'], d['total']['kept'], d['total']['duplicates'], d['total']['refused']" "(28, 15, 13, 0)"
json_is import_adds_up "all(r['read'] == r['kept'] + r['duplicates'] + r['refused'] for r in d['rows'])" True
json_is import_clashes "d['clashes']['count']" 1
if cmp -s n.h5 again.h5; then ok import_same_bytes; else not_ok import_same_bytes "threads or runs change the file"; fi

succeeds import_aiconfigurator "$ROOFTILE" dataset import -f aiconfigurator "$mini/aiconfigurator_mini" -o a.h5
holds import_prints_refusals 'h100 sxm/moe.csv:3: moe_dtype is "int3"' "$work/stdout"
printf 'op_name,device,latency,gemm_dtype,m,n,k\n' >refused.csv
for i in $(seq 30); do echo "gemm,NVIDIA H200,1,fp7,$i,1,1"; done >>refused.csv
echo "gemm,NVIDIA H200,1,fp8_static,1,1,1" >>refused.csv
ln -s "$mini/neusight_mini" linked
succeeds import_linked "$ROOFTILE" dataset import -f neusight linked -o linked.h5 --json --quiet
json_is import_linked_total "d['total']['read'], d['total']['kept']" "(28, 15)"
succeeds import_refused "$ROOFTILE" dataset import -f aiconfigurator refused.csv -o r.h5
holds import_groups_refusals 'such as bf16, fp8 or w4a16_mxfp4 (datasets/dtype.c lists them) (and 29 more alike)' "$work/stdout"
succeeds import_refused_json "$ROOFTILE" dataset import -f aiconfigurator refused.csv -o r2.h5 --json
json_is import_reasons "[(r['count'], r['first'][:14]) for r in d['refused']['reasons']]" "[(30, 'refused.csv:2:')]"
succeeds import_source "$ROOFTILE" dataset import -f aiconfigurator "$mini/aiconfigurator_mini" -o s.h5 --source mine --licence CC0
succeeds info_source "$ROOFTILE" dataset info s.h5
holds info_prints_source "source   mine" "$work/stdout"
holds info_prints_licence "licence  CC0" "$work/stdout"

succeeds info "$ROOFTILE" dataset info n.h5
for words in "uuid " "sitar-lab/NeuSight" "MIT" "unknown tiles" "latency_us" "latency_statistic" "2023-11-14T22:13:20Z"; do
    holds "info_prints_$words" "$words" "$work/stdout"
done
succeeds info_page "$ROOFTILE" dataset info n.h5 --report n.html
holds info_page_pictures "Time against bytes" n.html
refuses info_page_is_there 2 "n.html: is there already" "$ROOFTILE" dataset info n.h5 --report n.html
succeeds info_json "$ROOFTILE" dataset info n.h5 --json
json_is info_counts "sum(r['samples'] for r in d['sample_counts']), d['samples'], d['workloads']" "(13, 13, 2)"
json_is info_splits "sorted({r['split'] for r in d['sample_counts']})" "['test', 'train']"
json_is info_ranges "[r['max'] for r in d['ranges'] if r['column'] == 'tile2']" "[16.0]"

for name in n a; do
    succeeds "export_$name" "$ROOFTILE" dataset export --format csv $name.h5 -o "folder $name"
    succeeds "import_back_$name" "$ROOFTILE" dataset import --format csv "folder $name" -o back.h5 --overwrite
    if cmp -s $name.h5 back.h5; then ok "round_trip_$name"; else not_ok "round_trip_$name" "the files differ"; fi
done
succeeds export_json "$ROOFTILE" dataset export n.h5 -o other --json
json_is export_json "d['samples'], d['workloads']" "(13, 2)"

succeeds merge "$ROOFTILE" dataset merge n.h5 a.h5 n.h5 -o m.h5
holds merge_counts "m.h5: 41 samples, 2 workloads, 4 devices; 15 exact duplicates dropped" "$work/stdout"
succeeds merge_json "$ROOFTILE" dataset merge n.h5 n.h5 -o same.h5 --json
json_is merge_duplicates "d['duplicates'], d['samples']" "(15, 13)"
if cmp -s n.h5 same.h5; then ok merge_with_itself; else not_ok merge_with_itself "not the same file"; fi

for name in n a m; do succeeds "validate_$name" "$ROOFTILE" dataset validate $name.h5; done
succeeds validate_json "$ROOFTILE" dataset validate n.h5 --json
json_is validate_checks "[c['check'] for c in d['checks'] if not c['ok']], len(d['checks'])" "([], 7)"

# A GPU that cannot be so fast.
sed 's/^bmm,0.05,/bmm,0.0005,/' "$mini/neusight_mini/per_gpu/kernels/train/bmm/Tesla_T4.csv" >fast.csv
succeeds import_fast "$ROOFTILE" dataset import -f neusight fast.csv -o fast.h5
refuses validate_fast 1 'the check "roofline" found 1 wrong: /samples row 0: bmm' "$ROOFTILE" dataset validate fast.h5
holds validate_fast_table "worst first" "$work/stdout"
succeeds validate_allows "$ROOFTILE" dataset validate fast.h5 --max-impossible 1
refuses validate_json_too 1 "roofline" "$ROOFTILE" dataset validate fast.h5 --json
json_is validate_worst "d['impossible'][0]['op'], d['impossible'][0]['limit']" "('bmm', 'compute')"

succeeds devices "$ROOFTILE" devices
holds devices_lists "NVIDIA H200" "$work/stdout"
succeeds devices_json "$ROOFTILE" devices --json
json_is devices_all "len(d) >= 20, 'bandwidth_gbs' in d[0]" "(True, True)"
succeeds devices_spec "$ROOFTILE" devices H100,sms=100
holds devices_spec_shows_fields "multiprocessors" "$work/stdout"
succeeds devices_file "$ROOFTILE" devices H100,sms=100,bandwidth_gbs=4000 --json
json_is devices_override "d['sms'], d['bandwidth_gbs']" "(100.0, 4000.0)"
cp "$work/stdout" future.json
succeeds devices_reads_own_file "$ROOFTILE" devices ./future.json H200 --json
json_is devices_two "[x['sms'] for x in d]" "[100.0, 132.0]"
refuses devices_unknown 1 "unknown GPU \"Voodoo\"" "$ROOFTILE" devices Voodoo
refuses devices_override_unknown 2 "is no override" "$ROOFTILE" devices H100,speed=9

for command in "dataset" "dataset import" "dataset info" "dataset export" "dataset merge" "dataset validate" "devices"; do
    succeeds "help_$command" "$ROOFTILE" $command --help
    holds "help_has_example_$command" "Example" "$work/stdout"
done
finish
