#!/usr/bin/env python3
"""Collectives of Vidur (repository microsoft/vidur) or PipeWeave (zksainx/pipeweave) for `rooftile dataset import --format csv`:

  scripts/corpora/collectives.py FOLDER -o OUT      FOLDER is that of either corpus

Both are written by Vidur's profiler (vidur/profiling/collectives): NCCL through PyTorch in fp16, a time is CUPTI's or the CUDA event's of
the kernel on rank 0, of 3 repeats; `size` is bytes. A kernel on rank 0 spins until the other ranks have started theirs, so the least of the
repeats is taken, and a row whose least is over 1.1 times that of a larger message waited for another rank: it is left out. Rows with fewer
GPUs in a node than workers went over the network and are left out, too."""
import sys

from exported_csv import Export, Refused, main, rows

# folder: device, fabric (datasets/fabric.h); of a folder that is not here, its name and the description's own. A40s 0 and 1 exchange 4 to 5 GB/s where a bridge has 56 and PCIe 32: through the host.
# PipeWeave's server of four H100: a pair reaches 111 GB/s, all four 320: six of eighteen NVLinks to each peer, a mesh.
OWN, MESH, PAIRS, PCIE_HOST = 0, 2, 3, 6
SERVERS = {
    "a100_dgx": ("A100-SXM4-80GB", OWN),
    "h100_dgx": ("H100-SXM", OWN),
    "a100_pairwise_nvlink": ("A100-PCIE-80GB", PAIRS),
    "h100_pairwise_nvlink": ("H100-PCIE", PAIRS),
    "a40_pairwise_nvlink": ("A40", PCIE_HOST),
    "H100": ("H100-SXM", MESH),
}
OPS = {"all_reduce": "all_reduce", "send_recv": "send_receive"}
FP16_BYTES, WAITED = 2, 1.1


def read(path, export):
    """(GPUs, bytes, us) of a file's rows within one node."""
    op = path.stem
    for row in rows(path):
        if int(row["devices_per_node"]) < int(row["num_workers"]):
            export.drop("over the network between nodes")
            continue
        yield int(row["num_workers"]), int(row["size"]), 1e3 * float(row[f"time_stats.{op}.min"])


def without_waits(measured, export):
    """Rows that took no longer than larger messages."""
    least = {}
    for gpus, size, us in sorted(measured, reverse=True):
        least[gpus] = min(us, least.get(gpus, us))
        if us > WAITED * least[gpus]:
            export.drop("waited for another rank: a larger message took less")
        else:
            yield gpus, size, us


def convert(folder):
    paths = [*sorted(folder.glob("data/profiling/network/*/*.csv")), *sorted(folder.glob("dataset/collective/*/*.csv"))]
    paths = [path for path in paths if path.stem in OPS]
    if not paths:
        raise Refused(f"{folder}: holds neither data/profiling/network/*/all_reduce.csv nor dataset/collective/*/all_reduce.csv")
    vidur = "profiling" in paths[0].parts
    export = Export(*(("Vidur, repository microsoft/vidur, data/profiling/network", "MIT, copyright Microsoft Corporation") if vidur else
                      ("PipeWeave, repository zksainx/pipeweave, dataset/collective", "Apache-2.0")))
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, contents):
        device, fabric = SERVERS.get(path.parent.name, (path.parent.name, OWN))
        measured = list(read(path, export))
        if contents.count(content) > 1:
            for _ in measured:
                export.drop("the same file under two GPUs: one of them was not measured")
            continue
        group = export.group(corpus="vidur" if vidur else "pipeweave", server=path.parent.name, kernel_source="NCCL",
                             latency_statistic="least of 3, rank 0")
        for gpus, size, us in without_waits(measured, export):
            export.sample(OPS[path.stem], "fp16", device, (gpus, size // FP16_BYTES, fabric, 0), us, group, ("queued",))
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))
