# Bad input to `rooftile dataset`: each its sentence and exit status, never a crash, and what was there stays.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work"
dataset="$ROOFTILE dataset"
header='OPName,Latency,Device,Kernel Name,Grid x,Grid y,Grid z,Block x,Block y,Block z,B,H'
row='add,1,Tesla T4,k,1,1,1,128,1,1,8,8'

# import NAME STATUS WORDS: of bad.csv, which is refused as a whole.
import() { refuses "$1" "$2" "$3" $dataset import --format neusight bad.csv -o out.h5 --overwrite; }
# row NAME WORDS ROW: a good row, this one, a good row; it is reported, the others are kept.
row() {
    printf '%s\n' "$header" "$row" "$3" "$row,x" "${row/8,8/8,16}" | sed '4d' >bad.csv
    succeeds "$1" $dataset import --format neusight bad.csv -o out.h5 --overwrite
    holds "$1_is_reported" "bad.csv:3: $2" "$work/stdout"
    if grep -qE '^total +3 +2 +0 +1 ' "$work/stdout"; then ok "$1_is_counted"; else not_ok "$1_is_counted" "$(cat "$work/stdout")"; fi
    refuses "$1_strict" 1 "--strict" $dataset import --format neusight bad.csv -o out.h5 --overwrite --strict
}

# ---- CSV ----
refuses csv_missing 1 "absent.csv: cannot be read: No such file" $dataset import -f neusight absent.csv -o out.h5 --overwrite
: >bad.csv
import csv_empty 1 "bad.csv: is empty"
printf '%s' "$header" >bad.csv
import csv_truncated_header 1 "no newline at its end, so it may be cut off"
printf '%s\n%s' "$header" "${row%8}" >bad.csv
import csv_truncated_row 1 "no newline at its end, so it may be cut off"
printf '%s\nadd,1,"Tesla' "$header" >bad.csv
import csv_truncated_quote 1 "bad.csv:2: a quote is opened and never closed"
head -c 100000 "$ROOFTILE" >bad.csv
import csv_binary 1 "this is a binary file"
printf '%s\n%s\n' "$header" "$row" >bad.csv
truncate -s 1G bad.csv
succeeds csv_gigabyte_of_nothing $dataset import -f neusight bad.csv -o out.h5 --overwrite
holds csv_gigabyte_of_nothing_is_reported "bad.csv:3: holds bytes 0: this is a binary file" "$work/stdout"
{ printf '%s\n%s\n' "$header" "$row"; yes x | tr -d '\n' | head -c 67108864; } >bad.csv
succeeds csv_huge_line $dataset import -f neusight bad.csv -o out.h5 --overwrite
holds csv_huge_line_is_reported "bad.csv:3: the row is longer than 16 MiB" "$work/stdout"
printf 'a,b\n1,2\n' >bad.csv
import csv_other_columns 1 "bad.csv:1: has neither the columns of kernels"

row csv_columns "the row has 11 columns where the header has 12" 'add,1,Tesla T4,k,1,1,1,128,1,1,8'
row csv_words 'Latency is "fast"; it must be a positive number' "${row/,1,/,fast,}"
row csv_negative 'Latency is "-1"' "${row/,1,/,-1,}"
row csv_nan 'Latency is "nan"' "${row/,1,/,nan,}"
row csv_infinite 'Latency is "inf"' "${row/,1,/,inf,}"
row csv_gpu 'unknown GPU "Voodoo 2": neither a device file of the tree nor the catalogue' "${row/Tesla T4/Voodoo 2}"
row csv_op 'OPName is "subtract"' "${row/add/subtract}"
row csv_dims 'add: cols is -8; it must lie in 1..2^40' "${row%8}-8"
row csv_grid 'Grid x is "one"' "${row/k,1/k,one}"

# A file of nothing but wrong rows: one line for their reason, with their number.
{ echo "$header"; for i in $(seq 50); do echo "${row/,1,/,x,}"; done; } >bad.csv
import csv_all_wrong 1 'nothing to import as neusight: bad.csv:2: Latency is "x"'
holds csv_all_wrong_counted "(and 49 more alike)" "$work/stdout"
mkdir empty
refuses folder_empty 1 "nothing to import" $dataset import -f neusight empty -o out.h5 --overwrite

# ---- device files ----
mkdir tree
printf '%s\n%s\n' "$header" "${row/Tesla T4/Mine}" >tree/add.csv
device='{"Device": "Mine", "Dev_Mem": 8, "Mem_Bw": 100, "Num_Sm": 10, "Freq": 1000, "SingleFLOPs": 1000, "L2Cache": 2}'
json() { echo "$3" >tree/mine.json; refuses "$1" 1 "$2" $dataset import -f neusight tree -o out.h5 --overwrite --strict; }
echo "$device" >tree/mine.json
succeeds device_file $dataset import -f neusight tree -o mine.h5 --strict
json device_missing_field '"bandwidth_gbs" of Mine is missing' "${device/\"Mem_Bw\": 100, /}"
json device_absurd_field '"bandwidth_gbs" of Mine is 1e+15; it must lie in' "${device/100/1e15}"
json device_negative_field '"Num_Sm" of Mine must be a number above 0' "${device/10,/-10,}"
json device_text_field '"Num_Sm" of Mine must be a number above 0' "${device/10,/\"ten\",}"
json device_cut_off 'mine.json:' "${device%\"L2*}"
echo '{"name": "X", "sms": 4}' >x.json
refuses device_json_missing 1 '"fp32_vector_tflops" of X is missing' "$ROOFTILE" devices ./x.json

# ---- names that would act on a terminal ----
raw() { LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$1"; }
clean() { if raw "$2"; then not_ok "$1" "$(cat -v "$2")"; else ok "$1"; fi; }
printf '{"name": "T\\u001b[2J4\\u009b\\u202e", "sms": 4, "fp32_vector_tflops": 1, "memory_gib": 8, "bandwidth_gbs": 100, "l2_mib": 2}' >evil.json
succeeds evil_device "$ROOFTILE" devices ./evil.json
clean evil_device_text "$work/stdout"
holds evil_device_escaped 'T\x1b[2J4\u009b\u202e' "$work/stdout"
succeeds evil_device_json "$ROOFTILE" devices ./evil.json --json
clean evil_device_json_text "$work/stdout"
refuses evil_gpu 1 'unknown GPU "H\x1b[2J"' "$ROOFTILE" devices "$(printf 'H\033[2J')"
clean evil_gpu_sentence "$work/stderr"
printf '%s\n%s\n' "$header" "${row/Tesla T4/$(printf 'V\033]0;x\a')}" >bad.csv
refuses evil_import 1 'unknown GPU "V\x1b]0;x\x07"' $dataset import -f neusight bad.csv -o evil.h5
clean evil_import_report "$work/stdout"
clean evil_import_sentence "$work/stderr"

# ---- HDF5 ----
mkfifo pipe
refuses h5_pipe 1 "pipe: is a pipe or a device, which HDF5 cannot read" $dataset info pipe
$dataset import -f neusight "$ROOFTILE_SOURCE/tests/data/neusight_mini" -o good.h5 >/dev/null
for command in info validate "export -o folder" "merge -o out.h5 --overwrite"; do
    name=${command%% *}
    refuses "h5_missing_$name" 1 "absent.h5: cannot be read" $dataset $command absent.h5
    : >bad.h5
    refuses "h5_empty_$name" 1 "bad.h5: is empty" $dataset $command bad.h5
    echo "not HDF5" >bad.h5
    refuses "h5_not_$name" 1 "bad.h5: is not an HDF5 file" $dataset $command bad.h5
    head -c 9000 good.h5 >bad.h5
    refuses "h5_truncated_$name" 1 "truncated or damaged" $dataset $command bad.h5
done
size=$(stat -c %s good.h5)
flipped=0 unnoticed=0 crashed=0
for i in $(seq 60); do
    cp good.h5 bad.h5
    at=$((RANDOM * 32768 + RANDOM)) at=$((at % size))
    byte=$(dd if=good.h5 bs=1 skip=$at count=1 2>/dev/null | od -An -tu1)
    printf "\\x$(printf %02x $(((${byte:-0}) ^ (1 << RANDOM % 8))))" | dd of=bad.h5 bs=1 seek=$at conv=notrunc 2>/dev/null
    $dataset export bad.h5 -o flipped --overwrite >"$work/stdout" 2>"$work/stderr"
    case $? in
    0) cmp -s <(cat flipped/*.csv) <($dataset export good.h5 -o whole --overwrite >/dev/null && cat whole/*.csv) || unnoticed=$((unnoticed + 1)) ;;
    1) flipped=$((flipped + 1)) ;;
    *) crashed=$((crashed + 1)) ;;
    esac
done
if [ $unnoticed = 0 ] && [ $crashed = 0 ] && [ $flipped -gt 10 ]; then ok h5_flipped_bits; else
    not_ok h5_flipped_bits "$flipped refused, $unnoticed changed the data unnoticed, $crashed crashed"
fi

# ---- merging what does not fit together ----
echo "${device/100/200}" >tree/mine.json
$dataset import -f neusight tree -o other.h5 >/dev/null
refuses merge_clash 1 "other.h5 cannot be merged with the files before it: Mine: bandwidth_gbs is 100 in one description and 200" \
    $dataset merge mine.h5 other.h5 -o out.h5 --overwrite

# ---- places that cannot be written ----
echo old >kept
refuses write_below_file 1 "kept/out.h5: cannot be written: Not a directory" $dataset import -f neusight tree -o kept/out.h5
refuses write_to_proc 1 "cannot be written" $dataset import -f neusight tree -o /proc/out.h5
refuses write_to_folder 1 "is a folder" $dataset import -f neusight tree -o empty
refuses export_below_file 1 "kept/folder: cannot be made" $dataset export mine.h5 -o kept/folder
# A limit on the size of files stands for a full disk: the old file stays, no temporary is left.
cp mine.h5 before.h5
$dataset import -f neusight tree -o target.h5 >/dev/null
cp target.h5 saved.h5
limited() { (trap '' XFSZ; ulimit -f 8; exec "$@"); }
refuses full_disk_h5 1 "target.h5" limited $dataset merge good.h5 mine.h5 -o target.h5 --overwrite
if cmp -s target.h5 saved.h5 && [ -z "$(find . -name '*.tmp')" ]; then ok full_disk_h5_keeps; else not_ok full_disk_h5_keeps "$(ls)"; fi
for i in $(seq 400); do printf '%s\n' "${row/8,8/8,$((i + 100))}"; done | cat <(echo "$header") - >rows.csv
$dataset import -f neusight rows.csv -o rows.h5 >/dev/null
refuses full_disk_csv 1 "samples.csv: writing failed: File too large" limited $dataset export rows.h5 -o csv_full
if [ -z "$(find . -name '*.tmp')" ]; then ok full_disk_csv_keeps; else not_ok full_disk_csv_keeps "$(find . -name '*.tmp')"; fi
mkdir disk
if mount -t tmpfs -o size=32k none disk 2>/dev/null; then
    refuses full_tmpfs 1 "disk/out.h5" $dataset merge good.h5 -o disk/out.h5
    if [ -z "$(ls disk)" ]; then ok full_tmpfs_leaves_nothing; else not_ok full_tmpfs_leaves_nothing "$(ls disk)"; fi
    umount disk
else
    echo "skipped full_tmpfs: mounting is not allowed here"
fi

# ---- bad usage ----
refuses usage_nothing 2 "say what to do" $dataset
refuses usage_command 2 '"shred" is no command of rooftile dataset' $dataset shred good.h5
refuses usage_no_name 2 "name a dataset" $dataset info
refuses usage_two_names 2 "is one name too many" $dataset info good.h5 mine.h5
refuses usage_no_format 2 "say what it is: --format" $dataset import tree -o out.h5
refuses usage_format 2 'no importer is called "excel"' $dataset import -f excel tree -o out.h5 --overwrite
refuses usage_no_output 2 "say where to write to" $dataset import -f neusight tree
refuses usage_threads 2 "--threads 0: must be a whole number from 1" $dataset import -f neusight tree -o out.h5 -t 0
refuses usage_export_format 2 "--format xml: datasets are exported as csv" $dataset export -f xml good.h5 -o folder
refuses usage_impossible 2 "--max-impossible -1" $dataset validate good.h5 --max-impossible=-1
finish
