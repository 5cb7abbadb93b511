# Parameters and FLOPs of configs beside what transformers counted, tests/data/configs/reference.csv
# (scripts/architectures_table.py): what was equal when that was written stays so.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$ROOFTILE_SOURCE" || exit 1
command -v python3 >/dev/null || skip_all architectures "no python3"
export PYTHONDONTWRITEBYTECODE=1
configs=tests/data/configs
compare() { python3 scripts/architectures_table.py "$ROOFTILE" "$@" --keep; }

compare models/networks/zoo $configs $configs/layers --reference $configs/reference.csv -o "$work/page.md" >"$work/stdout" 2>"$work/stderr"
is equal "$?" 0
grep '^not ok' "$work/stdout"
cat "$work/stderr"
is all_compared "$(grep -cE '^ok|^not ok' "$work/stdout")" "$(($(wc -l <$configs/reference.csv) - 2))"
states=$(grep ',equal$' $configs/reference.csv)
is many_are_equal "$(($(wc -l <<<"$states") >= 130)):$(($(cut -d, -f2 <<<"$states" | sort -u | wc -l) >= 54))" 1:1
holds rows_have_the_config "gpt2,gpt2,GPT2LMHeadModel,--seq 512,124439808,124439808,136160" "$work/page.csv"
holds page_names_its_rows "All $(($(wc -l <"$work/page.csv") - 1)) rows: [page.csv](page.csv)" "$work/page.md"

# The guide is made from the rows of the program and these numbers.
cp docs/guide/hub-ids.csv "$work"
python3 scripts/models_page.py "$ROOFTILE" $configs/reference.csv docs/results/architectures.csv "$work/models.md"
for file in models.md models.csv hub-ids.csv; do
    if cmp -s "$work/$file" "docs/guide/$file"; then ok "guide_is_made: $file"; else
        not_ok "guide_is_made: $file" "docs/guide/$file is not what scripts/models_page.py writes; make it again:" \
            "$(diff "docs/guide/$file" "$work/$file" | head -n 5)"
    fi
done
succeeds types "$ROOFTILE" graph --types --json
json_is types_gpt2 "[(t['models'], t['stacks'], t['llm_servers']) for t in d if t['model_type'] == 'gpt2']" \
    "[('GPT-2, GPT-3', 'decoder', 'yes')]"
json_is types_read_as_others "[t['also'] for name in ('gpt2', 'falcon', 'llama4_text') for t in d if t['model_type'] == name]" \
    "[None, 'RefinedWeb, RefinedWebModel', 'llama4']"
holds configs_count_with_their_row "llama4_text,llama4,Llama 4,decoder,yes,2 of 2" docs/guide/models.csv
succeeds list "$ROOFTILE" graph --list
holds list_has_types "config.json files of these types" "$work/stdout"

succeeds lines_per_architecture python3 scripts/architecture_lines.py . --most 15
holds lines_have_a_median "median " "$work/stdout"

# One parameter and 0.2% of the FLOPs are noticed.
sed 's/,124439808,/,124439809,/' $configs/reference.csv >"$work/changed.csv"
compare models/networks/zoo/gpt2.json --reference "$work/changed.csv" >"$work/stdout"
is parameter_notices "$?:$(cat "$work/stdout")" "1:not ok gpt2: differs: parameters -1"
sed 's/,136160477184,/,135888156230,/' $configs/reference.csv >"$work/changed.csv"
compare models/networks/zoo/gpt2.json --reference "$work/changed.csv" >"$work/stdout"
is flops_notice "$?:$(cat "$work/stdout")" "1:not ok gpt2: differs: forward FLOPs +0.20%"
grep -v '^gpt2,' $configs/reference.csv >"$work/changed.csv"
compare models/networks/zoo/gpt2.json --reference "$work/changed.csv" >"$work/stdout" 2>"$work/stderr"
is missing_row "$?" 1
holds missing_row_says "models/networks/zoo/gpt2.json: not in" "$work/stderr"
finish
