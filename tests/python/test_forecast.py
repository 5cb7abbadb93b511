"""Forecasts from Python have the program's figures, and say what they hold."""
import html.parser
import json
import shutil
import unittest

import harness
import rooftile

CASES = [
    ("gpt2-large", "H100", {"batch": 2}, ["--batch", "2"]),
    ("bert-large", "A100-40", {"batch": 8, "seq": 128, "mode": "training", "optimizer": "adamw", "dp": 4},
     ["--batch", "8", "--seq", "128", "--mode", "training", "--optimizer", "adamw", "--dp", "4"]),
    ("llama-2-7b", "H200", {"mode": "decode", "context": 2048, "dtype": "bf16", "kv_cache": "fp8", "tp": 2},
     ["--mode", "decode", "--context", "2048", "--dtype", "bf16", "--kv-cache", "fp8", "--tp", "2"]),
    ("resnet50", "L4,sms=40", {"batch": 16, "layout": "nhwc", "autocast": True, "top": 3},
     ["--batch", "16", "--layout", "nhwc", "--autocast", "--top", "3"]),
    ("gpt2-large", "A100-40", {"power_limit": 250, "max_batch": True, "interval": 0.5},
     ["--power-limit", "250", "--max-batch", "--interval", "0.5"]),
]


class Balanced(html.parser.HTMLParser):
    """Every tag is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def texts_of(page):
    parser = Balanced()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return " ".join(parser.texts)


class Figures(harness.Case):
    def test_are_the_programs(self):
        for model, gpu, options, words in CASES:
            with self.subTest(model=model):
                forecast = rooftile.forecast(model, gpu, **options)
                said, = self.program("predict", "--model", model, "--gpu", gpu, *words)["forecasts"]
                self.assertEqual(forecast.to_dict(), said)
                self.assertEqual(forecast.time_ms, said["total_ms"])
                self.assertEqual(forecast.low_ms, said["interval"]["low_ms"])
                self.assertEqual(forecast.energy.step_j, said["energy"]["step_j"])
                self.assertEqual(forecast.memory.used_gib, said["memory"]["used_gib"])
                self.assertEqual([op.time_ms for op in forecast.ops], [op["time_ms"] for op in said["ops"]])
                self.assertEqual(forecast.coverage, said["coverage_pct"] / 100)

    def test_sweeps(self):
        sweep = rooftile.sweep("resnet50", ["L4", "H100"], batch=[1, 8])
        said = self.program("predict", "-m", "resnet50", "--gpu", "L4", "--gpu", "H100", "--batch", "1,8")
        self.assertEqual([forecast.to_dict() for forecast in sweep], said["forecasts"])
        self.assertEqual([(f.gpu.split()[1], f.batch) for f in sweep], [("L4", 1), ("L4", 8), ("H100", 1), ("H100", 8)])
        self.assertEqual((len(sweep[1:]), sweep[-1].batch, sweep.refused), (3, 8, []))

    def test_refused_gpus_keep_the_others(self):
        sweep = rooftile.sweep("llama-2-7b", ["P100", "H100"], dtype="fp8", seq=16)
        self.assertEqual(len(sweep), 1)
        self.assertIn("P100", sweep.refused[0][0])
        self.assertIn("fp8", sweep.refused[0][1])
        self.assertIn(sweep.refused[0][1].split('"')[0], texts_of(sweep._repr_html_()))

    def test_several_in_words_are_refused(self):
        for options in ({"batch": "1,2"}, {"batch": "1,2", "top": 5}, {"seq": "64,128", "explain": True}):
            with self.assertRaises((TypeError, rooftile.RooftileError)):
                rooftile.forecast("gpt2", "H100", **options)

    def test_one_forecast_is_a_sweep_too(self):
        self.assertEqual(rooftile.sweep("resnet50", "L4")[0], rooftile.forecast("resnet50", "L4"))

    def test_more_hardware_is_never_slower(self):
        times = [rooftile.forecast("gpt2-large", f"H100,sms={sms}", seq=64).time_ms for sms in (33, 66, 132)]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_devices(self):
        self.assertEqual(rooftile.devices(), self.program("devices")["devices"])
        device = rooftile.Device("H100,sms=100")
        self.assertEqual(device.to_dict(), self.program("devices", "H100,sms=100")["devices"][0])
        self.assertEqual((device["sms"], device["link_peers"], device.name), (100, None, "NVIDIA H100 80GB HBM3"))
        self.assertEqual(rooftile.forecast("resnet50", device).raw, rooftile.forecast("resnet50", "H100,sms=100").raw)

    def test_models(self):
        self.assertEqual(rooftile.models(), self.program("graph", "--list")["models"])

    def test_kernels(self):
        call, gpu = "gemm,m=8192,n=8192,k=8192,dtype=bf16", "H100,sms=100,l2_mib=49.5"
        bound = rooftile.kernel(call, gpu, predictor="roofline")
        self.assertAlmostEqual(bound.time_us, 2 * 8192**3 / (rooftile.Device(gpu)["bf16_matrix_tflops"] * 1e6), 6)
        self.assertEqual((bound.low_us, bound.high_us), (None, None))
        own = rooftile.kernel(call, rooftile.Device(gpu), predictor=rooftile.Predictor("pretrained"))
        self.assertTrue(bound.time_us <= own.time_us and own.low_us < own.time_us < own.high_us)

    def test_predictors(self):
        predictor = rooftile.Predictor("roofline")
        self.assertFalse(predictor.knows("H100"))
        self.assertFalse(predictor.knows(rooftile.Device("L4,sms=20")))
        forecast = rooftile.forecast("resnet50", "L4", predictor=predictor)
        self.assertEqual((forecast.predictor, forecast.low_ms, forecast.coverage), ("roofline", None, 0))

    def test_a_predictor_is_read_again_where_its_file_changes(self):
        path = self.folder / "p.h5"
        shutil.copy(harness.SOURCE / "tests/data/predictor_v3_linear.h5", path)

        def ask():
            return rooftile.kernel("gemm,m=512,n=512,k=512", "T4", predictor=path)

        self.assertEqual(ask(), ask())
        shutil.copy(harness.SOURCE / "tests/data/predictor_v3_wave_scaling.h5", self.folder / "new.h5")
        (self.folder / "new.h5").replace(path)
        with self.assertRaisesRegex(rooftile.RooftileError, "no similar kernel was measured"):
            ask()

    @unittest.skipUnless(harness.has_onnx(), "built without ONNX")
    def test_onnx_files(self):
        path = harness.SOURCE / "models/networks/zoo/resnet50.onnx"
        by_dim = rooftile.forecast(path, "H100", dim={"batch": 8}, top=5)
        self.assertEqual(by_dim.time_ms, rooftile.forecast(path, "H100", batch=8).time_ms)
        self.assertEqual(by_dim.time_ms, rooftile.forecast("resnet50", "H100", batch=8).time_ms)
        self.assertEqual([node.of for node in by_dim.nodes if node.of is None], [])


class Words(harness.Case):
    def test_in_a_notebook(self):
        config = self.folder / "a<b>&.json"
        config.write_text(json.dumps({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2, "vocab_size": 100}), encoding="utf-8")
        forecast = rooftile.forecast(config, "L4", seq=8)
        text = texts_of(forecast._repr_html_())
        for words in ("a<b>&.json", f"{forecast.time_ms:.3f} ms", "linear", f"{forecast.memory.used_gib:.2f} of"):
            self.assertIn(words, text)
        self.assertIn(f"{forecast.time_ms:.3f}", texts_of(rooftile.sweep("resnet50", ["L4", "H100"])._repr_html_()
                                                          + rooftile.sweep(config, "L4", seq=8)._repr_html_()))

    def test_in_a_line(self):
        forecast = rooftile.forecast("resnet50", "L4", batch=2)
        self.assertEqual(str(forecast).split(":")[0], "resnet50, inference, 2, fp32, on NVIDIA L4")
        self.assertNotIn("raw", repr(forecast))

    def test_what_is_unknown_is_none(self):
        gpu = self.folder / "gpu.json"
        gpu.write_text(json.dumps({**rooftile.Device("L4").to_dict(), "power_w": None}), encoding="utf-8")
        forecast = rooftile.forecast("resnet50", gpu, predictor="roofline", interval=0)
        self.assertEqual((forecast.energy, forecast.low_ms, forecast.tokens_per_s, forecast.sequence), (None,) * 4)

    def test_memory_that_is_not_there(self):
        forecast = rooftile.forecast("llama-2-7b", "L4", dtype="fp32", seq=64)
        self.assertFalse(forecast.memory.fits)
        self.assertTrue(any("does not fit" in words for words in forecast.warnings))
        self.assertIn("does not fit", forecast._repr_html_())


if __name__ == "__main__":
    harness.main()
