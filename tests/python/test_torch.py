"""Modules of PyTorch as forecasts, by either exporter: sizes, names, weights that are not there, and what cannot be."""
import importlib.util
import unittest
import warnings

import harness
import rooftile
import rooftile.torch
import torch

EXPORTERS = ["dynamo", "torchscript"] if importlib.util.find_spec("onnxscript") else ["torchscript"]
warnings.simplefilter("ignore")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = torch.nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) + x


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 64, 3, padding=1)
        self.blocks = torch.nn.Sequential(Block(64), Block(64))
        self.head = torch.nn.Linear(64, 10)

    def forward(self, pixels):
        return self.head(self.blocks(self.stem(pixels)).mean((2, 3)))


class Tied(torch.nn.Module):
    """Tokens and a mask in, a dict out; table and head share their weights."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(1000, 128)
        layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.head = torch.nn.Linear(128, 1000, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids, scale=None):
        x = self.encoder(self.table(ids))
        return {"logits": self.head(x if scale is None else x * scale), "state": [x]}


class Branching(torch.nn.Module):
    def forward(self, x):
        if x.sum().item() > 0:
            return x + 1
        return torch.linalg.eigh(x @ x.mT).eigenvalues


def launches(forecast):
    return {op.op: op.launches for op in forecast.ops}


@unittest.skipUnless(harness.has_onnx(), "built without ONNX")
class Modules(harness.Case):
    def test_cnn(self):
        for exporter in EXPORTERS:
            with self.subTest(exporter=exporter):
                net = Small().train()
                net.blocks[0].eval()
                forecast = rooftile.torch.forecast(net, torch.zeros(1, 3, 32, 32), "H100", batch=16, exporter=exporter)
                self.assertEqual((forecast.model, forecast.batch), ("Small", 16))
                ops = launches(forecast)
                self.assertEqual((ops["conv2d"], ops["batchnorm_inference"], ops["linear"]), (3, 2, 1))  # norms are not folded
                self.assertLess({"stem", "blocks.0", "blocks.1", "head"}, set(forecast.by_module(2)))
                self.assertEqual(forecast.by_module(2)["blocks.0"], forecast.by_module(2)["blocks.1"])
                self.assertAlmostEqual(sum(forecast.by_module().values()), sum(op.time_ms for op in forecast.ops))
                self.assertTrue(net.training and net.blocks[1].training and not net.blocks[0].norm.training)

    def test_exporters_agree(self):
        found = [launches(rooftile.torch.forecast(Small(), torch.zeros(2, 3, 32, 32), "L4", exporter=exporter)) for exporter in EXPORTERS]
        self.assertTrue(all(ops == found[0] for ops in found))

    def test_batches_of_a_module_exported_once(self):
        sweep = rooftile.torch.sweep(Small(), torch.zeros(1, 3, 32, 32), ["L4", "H100"], batch=[1, 64, 512])
        self.assertEqual([forecast.batch for forecast in sweep], [1, 64, 512] * 2)
        times = [forecast.time_ms for forecast in sweep[:3]]
        self.assertTrue(times[0] <= times[1] < times[2])

    def test_sizes_of_the_example(self):
        own = rooftile.torch.forecast(Small(), torch.zeros(4, 3, 32, 32), "L4")
        self.assertEqual(own.batch, 4)
        self.assertEqual(own.time_ms, rooftile.torch.forecast(Small(), torch.zeros(1, 3, 32, 32), "L4", batch=4).time_ms)

    def test_training(self):
        step = dict(batch=8, exporter="torchscript")
        inference = rooftile.torch.forecast(Small(), torch.zeros(1, 3, 32, 32), "H100", **step)
        training = rooftile.torch.forecast(Small(), torch.zeros(1, 3, 32, 32), "H100", mode="training", optimizer="adamw", **step)
        self.assertGreater(training.memory.optimizer_gib, 0)
        self.assertGreater(training.backward_ms, inference.forward_ms)

    @unittest.skipUnless("dynamo" in EXPORTERS, "no onnxscript: TorchScript keeps the example's length of sequences")
    def test_encoder_with_tied_weights_and_named_inputs(self):
        net, example = Tied(), {"ids": torch.zeros(1, 16, dtype=torch.int64), "scale": torch.ones(1, 16, 128)}
        forecast = rooftile.torch.forecast(net, example, "H100", batch=2, seq=64, dtype="bf16",
                                           dynamic={"ids": {1: "seq"}, "scale": {1: "seq"}})
        self.assertEqual((forecast.batch, forecast.sequence), (2, 64))
        self.assertEqual(launches(forecast)["attention_encoder"], 2)
        self.assertAlmostEqual(forecast.memory.weights_gib * 2**30, 2 * sum(p.numel() for p in net.parameters()), delta=4096)

    def test_weights_are_not_copied_or_needed(self):
        with torch.device("meta"):
            net = torch.nn.Sequential(*[torch.nn.Linear(32768, 32768) for _ in range(8)])  # 34 GB of weights
        forecast = rooftile.torch.forecast(net, torch.zeros(2, 32768, device="meta"), "H200", dtype="bf16")
        self.assertEqual(launches(forecast), {"linear": 8})
        self.assertAlmostEqual(forecast.memory.weights_gib, 8 * 2 * 32768 * 32769 / 2**30, 3)
        self.assertEqual({p.device.type for p in net.parameters()}, {"meta"})

    def test_as_by_name(self):
        try:
            import torchvision
        except ImportError:
            self.skipTest("no torchvision")
        with torch.device("meta"):
            net = torchvision.models.resnet18()
        by_module = rooftile.torch.forecast(net, torch.zeros(1, 3, 224, 224), "A100-40", batch=8)
        by_name = rooftile.forecast("resnet18", "A100-40", batch=8)
        self.assertEqual((by_module.time_ms, launches(by_module)), (by_name.time_ms, launches(by_name)))

    def test_transformers(self):
        try:
            import transformers
        except ImportError:
            self.skipTest("no transformers")
        config = transformers.GPT2Config(n_embd=128, n_layer=2, n_head=4, vocab_size=1000, bos_token_id=1, eos_token_id=1)
        with torch.device("meta"):
            net = transformers.GPT2LMHeadModel(config)
        forecast = rooftile.torch.forecast(net, {"input_ids": torch.zeros(1, 16, dtype=torch.int64)}, "H100", batch=4, seq=128,
                                           dynamic={"input_ids": {1: "seq"}}, dtype="bf16")
        path = self.folder / "config.json"
        path.write_text(config.to_json_string(use_diff=False).replace('"architectures": null', '"architectures": ["GPT2LMHeadModel"]'),
                        encoding="utf-8")
        self.assertEqual(launches(forecast), launches(rooftile.forecast(path, "H100", batch=4, seq=128, dtype="bf16")))
        self.assertEqual(net.config.use_cache, True)
        self.assertEqual({name for name in forecast.by_module(3) if ".h." in name}, {"transformer.h.0", "transformer.h.1"})

    def test_what_cannot_be_exported(self):
        with self.assertRaises(rooftile.torch.ExportError) as caught:
            rooftile.torch.forecast(Branching(), torch.zeros(3, 3), "H100")
        self.assertIn("Branching: PyTorch", str(caught.exception))
        self.assertIn("cannot export it by torchscript", str(caught.exception))
        self.assertEqual(str(caught.exception).count("\n"), 0)

    def test_wrong_arguments(self):
        for kind, words, arguments, options in (
                (TypeError, "is no torch.nn.Module", ("resnet50", torch.zeros(1), "H100"), {}),
                (TypeError, "is no tensor but a int", (Small(), 3, "H100"), {}),
                (TypeError, "there is no example input", (Small(), (), "H100"), {}),
                (rooftile.RooftileError, 'exporter "onnx"', (Small(), torch.zeros(1, 3, 8, 8), "H100"), {"exporter": "onnx"}),
                (rooftile.RooftileError, 'dynamic names "ids"', (Small(), torch.zeros(1, 3, 8, 8), "H100"), {"dynamic": {"ids": {1: "seq"}}}),
                (rooftile.RooftileError, "Small.*--tp", (Small(), torch.zeros(1, 3, 8, 8), "H100"), {"tp": 2, "exporter": "torchscript"})):
            with self.assertRaisesRegex(kind, words):
                rooftile.torch.forecast(*arguments, **options)


if __name__ == "__main__":
    harness.main()
