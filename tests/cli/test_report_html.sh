#!/usr/bin/env bash
# `--report x.html`: pages of several commands are well-formed, labelled and self-contained, and in a browser readable at
# three widths in both colour schemes.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
cd "$work" || exit 1
command -v python3 >/dev/null || skip_all "pages" "python3 is not there"
checks=$ROOFTILE_SOURCE/tests/cli

# The rules of page.py count as this test's.
page() {
    local name=$1 status
    shift
    python3 "$checks/page.py" "$@" | sed "s/^\(ok\|not ok\) /\1 $name: /"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || failures=$((failures + 1))
}

printf 'name,model,rate,latency_ms\ncamera,resnet50,60,50\nsearch,bert-base-uncased,40,100\n' >jobs.csv
predict() { succeeds "$1" "$ROOFTILE" predict --model gpt2 "${@:3}" --report "$2.html"; }
predict "one forecast" one --gpu H200 --batch 2 --mode training --optimizer adamw
predict "a pipeline" pipeline --gpu H200 --batch 8 --mode training --pp 2 --microbatches 4
predict "batches on two GPUs" sweep --gpu H200 --gpu L4 --batch 1,2,4
predict "GPUs" gpus --gpu H200 --gpu L4 --gpu T4
predict "a GPU that cannot" refused --gpu T4 --gpu L4 --dtype fp8
predict "shares of SMs" shares --gpu V100 --sm-share 20:100:20
predict "power limits" limits --gpu H100 --power-limit 300:700:100
succeeds "the catalogue" "$ROOFTILE" devices --report devices.html
succeeds "two devices" "$ROOFTILE" devices H100 L4 --report peaks.html
succeeds "a graph" "$ROOFTILE" graph --model resnet18 --mode training --report graph.html
holds "with a list of its sections" '<nav aria-label="Sections">' graph.html
holds "and pictures" "<b id=\"figure-2-title\">Bytes by op</b>" graph.html
succeeds "jobs side by side" "$ROOFTILE" pack --gpu V100-PCIE-32GB jobs.csv --report pack.html
succeeds "devices that are not" "$ROOFTILE" explore --gpu H100 --vary sms=100:140:20 --vary power_w=500:700:100 \
    --cost "0.2*sms" --model gpt2 --quiet --report explore.html
pages="one pipeline sweep gpus refused shares limits devices peaks graph pack explore"
for name in $pages; do page "$name" "$name.html"; done

# The same bytes again, other forms beside it, nothing replaced unasked.
cp one.html before.html
succeeds "again" "$ROOFTILE" predict --model gpt2 --gpu H200 --batch 2 --mode training --optimizer adamw --report one.html --overwrite
sed -i 's/ --overwrite//' one.html
if cmp -s one.html before.html; then ok "the same bytes"; else not_ok "the same bytes" "$(diff one.html before.html | head -5)"; fi
refuses "a page that is there" 2 "is there already" "$ROOFTILE" devices --report devices.html
succeeds "all forms" "$ROOFTILE" predict --gpu L4 --model gpt2 --batch 1,2 --report a.csv --report a.json --report a.md \
    --report a.txt --report a.html
is "a line a forecast" "$(wc -l <a.csv)" 3
is "JSON has both" "$(python3 -c 'import json; print(len(json.load(open("a.json"))["forecasts"]))')" 2
cmp -s a.txt stdout && ok "the text that is printed" || not_ok "the text that is printed"

# Names of models are text, on the page and in its pictures.
cp "$ROOFTILE_SOURCE/models/networks/zoo/gpt2-large.json" "<img src=x onerror=alert(1)>'\".json" &&
    succeeds "a hostile name" "$ROOFTILE" predict --gpu L4 --model "./<img src=x onerror=alert(1)>'\".json" --report hostile.html
page hostile hostile.html
lacks "no markup of it" "<img" hostile.html

# Pictures take no other program.
mkdir bin
PATH=$work/bin succeeds "with nothing else installed" "$ROOFTILE" predict --gpu L4 --model gpt2 --report plain.html
test "$(grep -c "role=.img." plain.html)" -ge 3 && ok "with its pictures" || not_ok "with its pictures"

# ---- in a browser ----
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "skipped pages in a browser: Chromium is not there"
    finish
}
# browse SCHEME PAGE:WIDTH...: runs checks.js in the pages, each in a frame of that width, by one start of the browser.
browse() {
    local scheme=$1 preferred=1 frames=""
    shift
    [ "$scheme" = dark ] && preferred=0
    for item in "$@"; do
        { cat "${item%:*}.html" && printf '<script>const scheme="%s", wanted=%s;\n' "$scheme" "${item#*:}" &&
            cat "$checks/checks.js" && echo "</script>"; } >"run-${item%:*}-${item#*:}.html"
        frames+="<iframe name=\"$item\" src=\"run-${item%:*}-${item#*:}.html\" width=${item#*:} height=900 style=\"border:0\"></iframe>"
    done
    cat >frames.html <<END
<!DOCTYPE html><meta charset="utf-8">$frames
<script>
addEventListener("load", () => {
  const all = {};
  for (const frame of document.querySelectorAll("iframe"))
    all[frame.name] = JSON.parse(frame.contentDocument?.getElementById("checks")?.textContent || '{"the page ran": ["no result"]}');
  const pre = document.createElement("pre");
  pre.id = "all";
  pre.textContent = JSON.stringify(all);
  document.body.append(pre);
});
</script>
END
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/browser" --allow-file-access-from-files \
        --blink-settings=preferredColorScheme=$preferred --dump-dom "file://$work/frames.html" >dom.html 2>browser.log
    page "$scheme" --checked dom.html
}
browse light one:360 one:900 one:1600 sweep:360 gpus:360 limits:900 devices:360 peaks:360 graph:360 pack:360 explore:360 hostile:360 plain:360
browse dark graph:900 one:360 sweep:900 shares:360 pipeline:900
finish
