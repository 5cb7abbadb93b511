"""One request, three roads: the program, the C library and this module say the same, to the digit."""
import ctypes
import json
import random
import re

import harness
import rooftile
from rooftile._library import check, library
from rooftile._objects import as_device, as_model, as_predictor

MODELS = ["gpt2-large", "bert-large", "llama-2-7b", "llama-3-8b", "gpt3-2.7b", "t5-large", "opt-13b", "switch-base-8", "resnet50",
          "vgg16", "vit-b-16", "whisper-small"]
GPUS = ["H100", "V100", "A100-SXM4-40GB", "L4", "T4", "P100", "MI210", "RTX 4090", "H200,sms=100"]


def request(draw):
    """What somebody may ask: some fields of a step, the others left out."""
    fields = {}
    mode = draw.choice([None, "inference", "decode", "training"])
    maybe = [("mode", mode), ("batch", draw.choice([1, 2, 8, 24])), ("dtype", draw.choice(["fp32", "fp16", "bf16"])),
             ("runtime", draw.choice(["eager", "eager-math", "compile"])), ("fusion", True), ("interval", 0.5)]
    if mode == "training":
        maybe += [("optimizer", draw.choice(["none", "sgd", "adamw"])), ("dp", 2), ("recompute", "layers"), ("shard", "none")]
    elif mode == "decode":
        maybe += [("context", draw.choice([100, 512, 900])), ("kv_cache", "none")]
    else:
        maybe += [("tp", 2), ("input", "pinned"), ("server", "vllm"), ("host_us", 5.0)]
    for name, value in maybe:
        if value is not None and (name == "mode" or draw.random() < 0.3):
            fields[name] = value
    if fields.get("dp") == 2:
        fields["batch"] = 8
    return fields


def in_fields(said):
    """What the program says with its options as the fields that C and Python call them, but for commands, in backticks."""
    if isinstance(said, dict):
        return {key: in_fields(value) for key, value in said.items()}
    if isinstance(said, list):
        return [in_fields(value) for value in said]
    if not isinstance(said, str):
        return said
    return re.sub(r"`[^`]*`|--([a-z]+(-[a-z]+)*)", lambda m: m[0] if m[1] is None else m[1].replace("-", "_"), said)


class Roads(harness.Case):
    def by_library(self, model, gpu, fields):
        """Through the functions of rooftile.h."""
        out, text = ctypes.c_void_p(), ctypes.c_void_p()
        words = [f"{name}={'true' if value is True else value}".encode() for name, value in fields.items()]
        check(library().rooftile_forecast_fields(
            as_predictor("pretrained").handle, as_device(gpu).handle, as_model(model).handle,
            (ctypes.c_char_p * len(words))(*words), len(words), ctypes.byref(out)))
        try:
            check(library().rooftile_forecast_json(out, ctypes.byref(text)))
            return json.loads(ctypes.string_at(text.value))
        finally:
            library().rooftile_text_free(text)
            library().rooftile_forecast_free(out)

    def test_two_hundred_requests(self):
        draw = random.Random(29)
        same = refused = 0
        while same < 200:
            model, gpu, fields = draw.choice(MODELS), draw.choice(GPUS), request(draw)
            words = [word for name, value in fields.items()
                     for word in ([f"--{name.replace('_', '-')}"] if value is True else [f"--{name.replace('_', '-')}", str(value)])]
            with self.subTest(model=model, gpu=gpu, fields=fields):
                try:
                    forecast = rooftile.forecast(model, gpu, **fields)
                except rooftile.RooftileError:
                    refused += 1
                    self.assertLess(refused, 400)
                    self.assertRefused("predict", "--model", model, "--gpu", gpu, *words)
                    continue
                said = in_fields(self.program("predict", "--model", model, "--gpu", gpu, *words))
                self.assertEqual(self.by_library(model, gpu, fields), said)
                said, = said["forecasts"]
                self.assertEqual(forecast.time_ms, said["total_ms"])
                self.assertEqual(forecast.to_dict(), said)
                same += 1

    def test_a_step_that_was_slow_by_one_road(self):
        for model in ("gpt2-large", "llama-3-8b"):
            said = self.program("predict", "--model", model, "--gpu", "H100", "--mode", "decode", "--context", "512")
            self.assertEqual(self.by_library(model, "H100", {"mode": "decode", "context": 512}), said)

    def test_what_was_assumed_is_said(self):
        said = rooftile.forecast("llama-3.1-8b", "H100").to_dict()
        self.assertEqual(said["assumed"], {"mode": "inference", "batch": "1", "seq": "1024", "dtype": "bf16", "runtime": "serving"})
        trained = rooftile.forecast("llama-3.1-8b", "H100", mode="training", batch=1, dtype="bf16").to_dict()
        self.assertEqual(trained["assumed"], {"seq": "1024", "runtime": "eager", "optimizer": "adamw"})

    def test_fields_are_named_as_they_are_here(self):
        with self.assertRaisesRegex(rooftile.RooftileError, "^kv_cache fp4"):
            rooftile.forecast("llama-3-8b", "H100", mode="decode", kv_cache="fp4")
        with self.assertRaisesRegex(rooftile.RooftileError, "no field of a step"):
            self.by_library("gpt2", "H100", {"kvcache": "fp8"})


if __name__ == "__main__":
    harness.main()
