"""Forecasts beside measurements from Python: the program's rows and pools."""
import harness
import rooftile

RUNS = """device,model,batch,sequence,mode,dtype,option,optimizer,end_to_end_us
A100-SXM4-40GB,resnet50,8,,inference,fp32,,,9400
A100-SXM4-40GB,bert-large,8,128,training,fp32,,adamw,98000
"""


class Evaluate(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.data, cls.runs = str(cls.folder / "kernels.h5"), str(cls.folder / "runs.h5")
        (cls.folder / "runs.csv").write_text(RUNS, encoding="utf-8")
        cls.import_data("neusight", harness.SOURCE / "tests/data/neusight_mini", cls.data)
        cls.import_data("workloads", cls.folder / "runs.csv", cls.runs)

    @classmethod
    def import_data(cls, form, source, out):
        harness.subprocess.run([harness.PROGRAM, "dataset", "import", "-q", "--format", form, str(source), "-o", out],
                               check=True, capture_output=True)

    def test_kernels(self):
        evaluation = rooftile.evaluate(self.data, split="all", by="dtype", no_baseline=True)
        said = self.program("evaluate", "-p", "pretrained", self.data, "--split", "all", "--by", "dtype", "--each", "--no-baseline", "-q")
        self.assertEqual(evaluation.raw, said)
        self.assertEqual((len(evaluation.rows), said["data"]["evaluated"]), (13, 13))
        row = evaluation.rows[0]
        self.assertEqual(row["dims"], {"batch": 1, "m": 1024, "n": 1024, "k": 256})
        self.assertAlmostEqual(row["error_pct"], 100 * (row["forecast_us"] / row["measured_us"] - 1))
        whole = [pool for pool in evaluation.summary if pool["op"] == pool["device"] == "all"]
        self.assertAlmostEqual(whole[0]["mape"], sum(abs(row["error_pct"]) for row in evaluation.rows) / 13)
        self.assertEqual(list(evaluation.by), ["dtype"])

    def test_several_predictors_and_files(self):
        evaluation = rooftile.evaluate([self.data, self.data], predictor=["roofline", rooftile.Predictor("pretrained")], split="all",
                                       op=["linear", "softmax"])
        self.assertEqual({row["op"] for row in evaluation.rows}, {"linear", "softmax"})
        for row in evaluation.rows:
            self.assertLessEqual(row["forecast_us"], row["forecasts"]["rooftile"])  # nothing beats the bound

    def test_models(self):
        evaluation = rooftile.evaluate(self.runs, workloads=True, no_baseline=True)
        said = self.program("evaluate", "-p", "pretrained", "--workloads", self.runs, "--no-baseline", "-q")
        self.assertEqual(evaluation.raw, said)
        self.assertEqual([(row["model"], row["measured_ms"]) for row in evaluation.rows], [("resnet50", 9.4), ("bert-large", 98)])
        forecast = rooftile.forecast("resnet50", "A100-SXM4-40GB", batch=8)
        self.assertAlmostEqual(evaluation.rows[0]["forecast_ms"], forecast.time_ms, 5)
        self.assertIn("<table>", evaluation._repr_html_())

    def test_what_cannot_be_judged(self):
        for words, options in (("is for kernels", {"workloads": True, "split": "all"}), ("no kernel has a property", {"by": "colour"}),
                               ("none.h5", {"data": "none.h5"})):
            with self.assertRaisesRegex(rooftile.RooftileError, words):
                rooftile.evaluate(**{"data": self.data, **options})


if __name__ == "__main__":
    harness.main()
