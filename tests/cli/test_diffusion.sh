# Diffusion pipelines at the command line: parts of a forecast, options, what does not fit; ML.ENERGY's runs as workloads.
. "$ROOFTILE_SOURCE/tests/cli/lib.sh"
command -v python3 >/dev/null || skip_all diffusion "no python3"
cd "$work"

# ---- predict ----
forecast() { "$ROOFTILE" predict --gpu H100 --interval 0 --json "$@" 2>stderr; }
forecast --model flux.1-dev --steps 4 >four.json
forecast --model black-forest-labs/FLUX.1-dev --steps 8 >eight.json
forecast --model flux.1-dev --steps 4 --image 512x1024 >half.json
forecast --model wan2.1-t2v-1.3b --steps 2 --ulysses 2 --ring 2 >gpus.json
forecast --model wan2.1-t2v-1.3b --steps 2 >one.json
forecast --model flux.1-dev --steps 4 --batch 2 >two.json
cat >judged.py <<'END'
import json
four, eight, half, gpus, one, two = (json.load(open(f"{name}.json"))["forecasts"][0] for name in ("four", "eight", "half", "gpus", "one", "two"))
parts = lambda f: f["parts"]["text_ms"] + f["parts"]["denoise_ms"] + f["parts"]["decode_ms"]
for f in (four, eight, half, gpus, one, two):
    assert abs(parts(f) - f["on_ms"]) < 1e-3 * f["on_ms"], (parts(f), f["on_ms"])  # totals add up
assert abs(eight["parts"]["denoise_ms"] / four["parts"]["denoise_ms"] - 2) < 0.02
assert half["total_ms"] < four["total_ms"] < eight["total_ms"] < 2 * four["total_ms"]
assert four["total_ms"] < two["total_ms"]
assert (four["image"], four["image_width"], four["steps"], four["frames"], four["dtype"]) == (1024, 1024, 4, None, "bf16")
assert (half["image"], half["image_width"]) == (512, 1024)
assert (one["frames"], one["image"], one["image_width"]) == (81, 480, 832)
assert gpus["parallel"]["ulysses"] == 2 and gpus["parallel"]["ring"] == 2 and gpus["energy"]["gpus"] == 4
assert one["total_ms"] / 4 < gpus["total_ms"] < one["total_ms"] and gpus["communication_ms"] > 1 > one["communication_ms"]
assert abs(four["energy"]["j_per_image"] * four["images_per_s"] - four["energy"]["watts"]) < 1e-3 * four["energy"]["watts"]
assert 20 < four["memory"]["weights_gib"] < 40
END
succeeds "steps, pixels and GPUs" python3 judged.py
succeeds "in words" "$ROOFTILE" predict --gpu H100 --model sdxl --steps 2
holds "its parts" "denoising " stdout
holds "images a second" "images/s" stdout
succeeds "training" "$ROOFTILE" predict --gpu H100 --model sdxl --mode training --batch 4
holds "once" "1024 x 1024 pixels, 1 step, " stdout
succeeds "several sizes" "$ROOFTILE" predict --gpu H100 --model sana --image 512,1024,512x1024
succeeds "a report" "$ROOFTILE" predict --gpu H100 --model pixart-sigma --steps 2 --report report.html
succeeds "its graph" "$ROOFTILE" graph --model hunyuanvideo --frames 9 --image 256x256 --steps 1
holds "blocks of parts" "denoise double layers" stdout
succeeds "they are listed" "$ROOFTILE" graph --list
holds "by name" "stable-diffusion-xl-base-1.0" stdout

# ---- what does not fit ----
wrong() { refuses "$1" 2 "$2" "$ROOFTILE" predict --gpu H100 "${@:3}"; }
wrong "training" "training denoises once a step" --model sdxl --mode training --steps 20
wrong "steps of a network" "--steps is for diffusion pipelines" --model resnet50 --steps 4
wrong "frames of a language model" "--frames is for diffusion pipelines" --model gpt2 --frames 4
wrong "a height and a width of a network" "images of resnet50 are square" --model resnet50 --image 224x256
wrong "frames of images" "makes images, not videos" --model sdxl --frames 4
wrong "frames between" "give 77 or 81" --model wan2.1-t2v-14b --frames 80
wrong "half a patch" "cuts images into patches of 16" --model flux.1-dev --image 1000
wrong "a wrong size" "height and width, 720x1280" --model flux.1-dev --image 720x
wrong "no steps" "must be a whole number from 1 to 1000" --model flux.1-dev --steps 0
wrong "heads that do not divide" "does not divide the 24 heads" --model flux.1-dev --ulysses 5
wrong "a cut U-Net" "has a U-Net" --model sdxl --ulysses 2
wrong "stages" "are not cut into stages" --model flux.1-dev --pp 2 --microbatches 2 --batch 2
wrong "tensor parallel" "whose layers are not cut" --model flux.1-dev --tp 2
wrong "tokens" "--seq is not for" --model flux.1-dev --seq 128

# ---- a folder as diffusers saves it ----
mkdir -p saved/transformer
echo '{"_class_name": "StableDiffusion3Pipeline", "_diffusers_version": "0.35.0"}' >saved/model_index.json
echo '{"num_layers": 38, "num_attention_heads": 38, "dual_attention_layers": []}' >saved/transformer/config.json
succeeds "a folder" "$ROOFTILE" predict --gpu H100 --model saved --steps 2 --json
cp stdout saved.json
succeeds "the same by name" "$ROOFTILE" predict --gpu H100 --model sd3.5-large --steps 2 --json
is "is the pipeline of its sizes" "$(grep '"total_ms"' saved.json)" "$(grep '"total_ms"' stdout)"
echo '{"num_layers": 37, "num_attention_heads": 38}' >saved/transformer/config.json
refuses "other sizes" 1 "is no pipeline that is known here" "$ROOFTILE" predict --gpu H100 --model saved
echo '{"num_layers":' >saved/transformer/config.json
refuses "a broken config" 1 "saved/transformer/config.json:2:0" "$ROOFTILE" predict --gpu H100 --model saved
echo '[1]' >saved/model_index.json
refuses "no object" 1 "holds no JSON object" "$ROOFTILE" predict --gpu H100 --model saved

# ---- ML.ENERGY's runs (an excerpt in its layout; numbers are made up) ----
mkdir -p v3/data/tasks
cat >v3/data/tasks/text-to-image.json <<'END'
{"task": "text-to-image", "configurations": [
 {"model_id": "black-forest-labs/FLUX.1-dev", "gpu_model": "H100", "num_gpus": 1, "ulysses_degree": 1, "ring_degree": 1, "batch_size": 2,
  "image_height": 1024, "image_width": 1024, "inference_steps": 4, "weight_precision": "bfloat16", "batch_latency_s": 2.0,
  "energy_per_image_joules": 600, "avg_power_watts": 600},
 {"model_id": "black-forest-labs/FLUX.1-dev", "gpu_model": "H100", "num_gpus": 4, "ulysses_degree": 2, "ring_degree": 2, "batch_size": 2,
  "image_height": 512, "image_width": 1024, "inference_steps": 4, "weight_precision": "bfloat16", "batch_latency_s": 1.0,
  "energy_per_image_joules": 1000, "avg_power_watts": 2000}]}
END
cat >v3/data/tasks/text-to-video.json <<'END'
{"task": "text-to-video", "configurations": [
 {"model_id": "Wan-AI/Wan2.1-T2V-1.3B-Diffusers", "gpu_model": "H100", "num_gpus": 1, "ulysses_degree": 1, "ring_degree": 1, "batch_size": 1,
  "video_height": 480, "video_width": 832, "num_frames": 81, "fps": 15, "inference_steps": 2, "weight_precision": "bfloat16",
  "batch_latency_s": 4.0, "energy_per_video_joules": 2600, "avg_power_watts": 650}]}
END
echo '{"task": "image-chat", "configurations": [{"model_id": "a"}]}' >v3/data/tasks/image-chat.json
succeeds "its runs" python3 "$ROOFTILE_SOURCE/scripts/corpora/mlenergy.py" v3 -o v3.csv
cp stdout said.txt
is "sizes" "$(cells image v3.csv)" "480x832|1024x1024|512x1024"
is "frames" "$(cells frames v3.csv)" "81||"
is "GPUs" "$(cells option v3.csv)" "||ulysses2-ring2"
is "the energy of all GPUs, mJ" "$(cells energy_mj v3.csv)" "2600000|1200000|2000000"
is "the power of one" "$(cells power_w v3.csv)" "650|600|500"
holds "LLM servers are counted" "left out: 1 rows, LLM servers of image-chat" said.txt
succeeds "they are imported" "$ROOFTILE" dataset import -f workloads v3.csv -o v3.h5 --strict
succeeds "and judged" "$ROOFTILE" evaluate -p pretrained --workloads v3.h5 --json
is "all of them" "$(python3 -c 'import json; print(len(json.load(open("stdout"))["rows"]))')" 3
sed 's/1024x1024/1024x/' v3.csv >bad.csv
refuses "half a size" 1 "height and width, 720x1280" "$ROOFTILE" dataset import -f workloads bad.csv -o bad.h5 --strict
finish
