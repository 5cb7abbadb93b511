#!/usr/bin/env python3
"""vTrain's measured training steps (repository VIA-Research/vTrain) for `rooftile dataset import --format workloads`:

  scripts/corpora/vtrain.py FOLDER -o OUT.csv      FOLDER holds data/ground_truth_*.csv: of one server, and of many where it is there

GPT in fp16 by Megatron-DeepSpeed (data/README.md there), tensor x data x pipeline parallel, 1F1B, on servers of eight A100 that 800 Gb/s
join (config/validation there: node_size, inter_node_bandwidth). Every configuration there has use_checkpoint: layers run again before their backward
pass. Its words are 50,257, which Megatron pads to a multiple of 128 x tp. Attention was written out: softmax with mask and scale is one kernel
(src/model/fused_softmax.py there). Which A100 is not said: those of 80 GB are taken."""
import sys

from runs_csv import Runs, main, rows
from training import cut, divide, need

NODE_GBS = 800 / 8 / 8  # GB/s of each of a server's eight GPUs
NODE_GPUS = 8


def model(row):
    tp = int(row["tensor parallelism"])
    words = -(-50257 // (128 * tp)) * 128 * tp
    return (f"gpt3-xl,n_layer={row['# layers']},n_embd={row['hidden size']},n_head={row['attention heads']},"
            f"n_positions={row['sequence length']},vocab_size={words}")


def convert(folder):
    runs = Runs("vtrain")
    for path in need(folder, "data/ground_truth_*.csv"):
        for row in rows(path):
            row = {key.strip(): value for key, value in row.items()}
            gpus, batch, micro, tp, dp, pp = (int(row[key]) for key in ("# GPUs", "global batch", "micro batch", "tensor parallelism",
                                                                        "data parallelism", "pipeline parallelism"))
            divided = divide(batch, gpus, tp, pp, micro=micro)
            if divided is None or divided[0] != dp:
                runs.drop("GPUs or batch do not divide")
                continue
            nodes = -(-gpus // NODE_GPUS)
            runs.add(1e3 * float(row["iteration time (ms)"]), device="A100-80", model=model(row), batch=batch, sequence=row["sequence length"],
                     mode="training", dtype="fp16", runtime="megatron-2021", backend="megatron-deepspeed", optimizer="adamw", recompute="layers",
                     option=cut(dp, tp, pp, divided[1]), servers=nodes, run=path.stem.removeprefix("ground_truth_"),
                     **({"node_gpus": NODE_GPUS, "node_gbs": NODE_GBS, "network": "infiniband"} if nodes > 1 else {}))
    return runs


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))
