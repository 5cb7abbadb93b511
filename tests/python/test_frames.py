"""Forecasts and evaluations as pandas frames."""
import harness
import pandas
import rooftile


class Frames(harness.Case):
    def test_forecast(self):
        forecast = rooftile.forecast("gpt2-large", "H100", seq=64)
        frame = forecast.to_frame()
        self.assertEqual(list(frame["op"]), [op.op for op in forecast.ops])
        self.assertAlmostEqual(frame["share_pct"].sum(), 100)
        self.assertEqual(len(forecast.nodes_frame()), 10)

    def test_sweep(self):
        sweep = rooftile.sweep("resnet50", ["L4", "H100"], batch=[1, 8, 32])
        table = sweep.to_frame().pivot(index="batch", columns="gpu", values="time_ms")
        self.assertEqual(table.shape, (3, 2))
        self.assertEqual(table.loc[8, "NVIDIA L4"], sweep[1].time_ms)
        self.assertTrue((table["NVIDIA H100 80GB HBM3"] <= table["NVIDIA L4"]).all())

    def test_evaluation(self):
        data = str(self.folder / "data.h5")
        self.run_program("dataset", "import", "-q", "--format", "neusight", str(harness.SOURCE / "tests/data/neusight_mini"), "-o", data)
        evaluation = rooftile.evaluate(data, split="all", by="gpu")
        frame = evaluation.to_frame()
        self.assertEqual(len(frame), len(evaluation.rows))
        self.assertIn("dims.m", frame)
        self.assertAlmostEqual(frame["errors_pct.roofline"].abs().mean(), 100 * (1 - frame["forecasts.roofline"] / frame["measured_us"]).abs().mean())
        pools = evaluation.summary_frame()
        self.assertEqual(set(pools["predictor"]), {"rooftile", "roofline"})
        self.assertEqual(len(evaluation.summary_frame("gpu")), len(evaluation.by["gpu"]))

    def test_catalogue(self):
        devices = pandas.DataFrame(rooftile.devices()).set_index("name")
        self.assertEqual(devices.loc["NVIDIA L4", "sms"], 58)
        self.assertIn("resnet50", set(pandas.DataFrame(rooftile.models())["name"]))


if __name__ == "__main__":
    harness.main()
