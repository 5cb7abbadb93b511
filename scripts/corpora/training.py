"""What converters of training runs share: how a step was cut over GPUs, the clusters, NVIDIA's names of models, tables in Markdown.

A step of a run is its global batch. Where a page says tokens a second of one GPU, the step takes batch x tokens / (rate x GPUs)."""
import re

import catalogue
from runs_csv import Refused

# Sizes of models that nobody published as a config.json: changes of one that is known.
GPT3 = "gpt3-xl,n_layer={layers},n_embd={hidden},n_head={heads},n_positions={positions},vocab_size=51200"
# Names of Megatron-Bridge, NeMo and dgxc, without case and separators. GPT-3: Brown et al. 2020, table 2.1, and NeMo's
# recipes (5B: 24 x 4096, 20B: 44 x 6144, 40B: 48 x 8192; 175B: 96 x 12288). Nemotron: arXiv 2402.16819 (15B), 2406.11704 (340B), HF
# configs; squared ReLU, no gate, so that the sizes are Nemotron-Mini's row with others.
NEMOTRON = ("nvidia/Nemotron-Mini-4B-Instruct,num_hidden_layers={0},hidden_size={1},intermediate_size={2},num_attention_heads={3},"
            "num_key_value_heads={4},head_dim={5},vocab_size=256000")
MODELS = {
    "gpt35b": GPT3.format(layers=24, hidden=4096, heads=32, positions=2048),
    "gpt320b": GPT3.format(layers=44, hidden=6144, heads=48, positions=2048),
    "gpt340b": GPT3.format(layers=48, hidden=8192, heads=64, positions=2048),
    "gpt3175b": GPT3.format(layers=96, hidden=12288, heads=96, positions=2048),
    "llama27b": "llama-2-7b", "llama213b": "llama-2-13b", "llama270b": "llama-2-70b", "llama38b": "llama-3-8b", "llama370b": "llama-3-70b",
    "llama318b": "llama-3.1-8b", "llama3170b": "llama-3.1-70b", "llama31405b": "llama-3.1-405b", "llama3405b": "llama-3.1-405b",
    "nemotron48b": NEMOTRON.format(32, 4096, 16384, 32, 32, 128), "nemotron8b": NEMOTRON.format(32, 4096, 16384, 32, 32, 128),
    "nemotron415b": NEMOTRON.format(32, 6144, 24576, 48, 8, 128), "nemotron15b": NEMOTRON.format(32, 6144, 24576, 48, 8, 128),
    "nemotron22b": NEMOTRON.format(40, 6144, 24576, 48, 48, 128), "nemotron4340b": NEMOTRON.format(96, 18432, 73728, 96, 8, 192),
    "nemotron340b": NEMOTRON.format(96, 18432, 73728, 96, 8, 192),
    "mixtral8x7b": "mixtral-8x7b", "mixtral8x22b": "mixtral-8x22b", "deepseekv3": "deepseek-v3", "gptoss120b": "gpt-oss-120b",
    "qwen330ba3b": "Qwen/Qwen3-30B-A3B-Base", "qwen3235ba22b": "qwen3-235b-a22b", "kimik2": "kimi-k2",
    "nemotron3nano": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron3super": "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
    "nemotron3ultra": "nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nemotronh56b": "nvidia/Nemotron-H-56B-Base-8K",
    "nemotron35lightning": "nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4",
}
# What joins servers, by the GPU's board as DGX and NVL72 have it: GPUs of an NVLink domain, GB/s of each to other servers (DGX A100: HDR of
# 200 Gb/s a GPU; DGX H100, H200, B200, GB200: NDR of 400; B300, GB300: 800). NVIDIA's pages of these systems.
DOMAINS = {"GB200": 72, "GB300": 72}
NODE_GBS = {"A100": 25, "H100": 50, "H200": 50, "B200": 50, "GB200": 50, "B300": 100, "GB300": 100, "MI300X": 50, "MI325X": 50, "MI355X": 50}


def cut(dp=1, tp=1, pp=1, microbatches=1, ep=1):
    """As the column `option` of /workloads has it."""
    parts = [f"{name}{count}" for name, count in (("dp", dp), ("tp", tp), ("ep", ep)) if count > 1]
    return "-".join(parts + ([f"pp{pp}_{microbatches}"] if pp > 1 or microbatches > 1 else []))


def divide(batch, gpus, tp=1, pp=1, cp=1, micro=1):
    """(data-parallel GPUs, micro batches of each); None: they do not divide."""
    if gpus % (tp * pp * cp):
        return None
    dp = gpus // (tp * pp * cp)
    return (dp, batch // (dp * micro)) if batch % (dp * micro) == 0 else None


def servers(gpus, board, network="infiniband"):
    """Columns of what joins the servers of so many GPUs of a board of the catalogue, named as its chip is."""
    domain = DOMAINS.get(board, 8)
    if gpus > domain and board in DOMAINS and gpus % domain:
        domain = 64  # sixteen trays of a rack's eighteen, as NVIDIA's recipes take racks
    if gpus <= domain:
        return {"node_gpus": domain if board in DOMAINS else "", "servers": 1}
    return {"node_gpus": domain, "node_gbs": NODE_GBS[board], "network": network, "servers": -(-gpus // domain)}


def board(text):
    """GB200 of "DGX-GB200", H100 of "NVIDIA H100-SXM5-80GB": what systems call their GPU."""
    found = re.search(r"GB[23]00|B[23]00|H[12]00|A100|MI3\d\dX", text.upper())
    return found[0] if found else text


def model(name):
    """The model of a name of NVIDIA's; None: not known."""
    return MODELS.get(re.sub(r"[^a-z0-9]", "", re.sub(r"\(.*?\)", "", name.lower())))


def precision(text):
    """(quant, recipe) of "FP8-CS", "MXFP8", "NVFP4", "BF16"."""
    word = text.upper().replace("-", "").replace("_", "")
    if "FP4" in word:
        return "fp4", "nvfp4"
    if "MX" in word:
        return "fp8", "mxfp8"
    return ("fp8", "delayed or current scaling") if "FP8" in word else ("", "")


def cells(line):
    """The cells of a row of a Markdown table; None: the line is none."""
    line = re.sub(r"\[\^[^\]]*\]", "", line.strip())
    return [cell.strip().strip("*").strip() for cell in line.strip("|").split("|")] if line.startswith("|") else None


def tables(text):
    """(headings above, header, rows) of each Markdown table: headings by level, 1-based, as a dict."""
    headings, header, body = {}, None, []
    for line in [*text.splitlines(), ""]:
        row = cells(line)
        if row is None:
            if header is not None:
                yield dict(headings), header, body
            header, body = None, []
            if level := re.match(r"(#+)\s*(.*)", line):
                headings = {k: v for k, v in headings.items() if k < len(level[1])} | {len(level[1]): level[2].strip()}
        elif header is None:
            header = row
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in row if cell):
            body.append(row)


def numbers(cell):
    """The numbers of "4.520 (36,108)" in order; n/a is 1."""
    if cell.lower() in ("n/a", "na", "-", ""):
        return [1]
    return [float(number) if "." in number else int(number) for number in re.findall(r"\d+(?:\.\d+)?", cell.replace(",", ""))]


def need(folder, *paths):
    """The paths in the folder, in order; Refused: one is not there."""
    found = [path for pattern in paths for path in sorted(folder.glob(pattern))]
    if not found:
        raise Refused(f"{folder}: holds no {' or '.join(paths)}; name the corpus' own folder")
    return found
