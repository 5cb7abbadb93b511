#!/usr/bin/env python3
"""PipeWeave's products in fp8 on GPUs of Hopper (repository zksainx/pipeweave) for `rooftile dataset import --format csv`:

  scripts/corpora/pipeweave_gemm.py FOLDER -o OUT      FOLDER holds dataset/gemm_fp8_test.csv, gemm_fp8_train.csv

C(M,N) = A(M,K) B(K,N). The repository does not say which kernel; the rows do: K is always a multiple of 128 and M of 4, and the smallest take
0.34 us for every 128 of K beyond the first, four times what CUTLASS takes with one scale a tensor (AIConfigurator), as it is where sums are
rescaled block by block. So they are fp8_block. `avg_duration` (us) is the product's alone, without quantising its input (flag queued)."""
import sys

from exported_csv import Export, files, main, rows


def convert(folder):
    export = Export("PipeWeave, repository zksainx/pipeweave, dataset/gemm_fp8_*.csv", "Apache-2.0, zksainx/pipeweave")
    group = export.group(corpus="pipeweave", latency_statistic="mean", library="block-scaled fp8 product, not named")
    for path in files(folder, "dataset/gemm_fp8_*.csv"):
        for row in rows(path):
            dims = tuple(int(row[key]) for key in "MNK")
            export.sample("gemm", "fp8_block", row["hardware"], dims, float(row["avg_duration"]), group, ("queued",))
    return export


if __name__ == "__main__":
    sys.exit(main(convert, __doc__))
