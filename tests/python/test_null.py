"""NULL in every place of every public function that takes a pointer: a sentence, or what the header allows, never a signal.

The functions and their parameters are read from rooftile.h, so that none is forgotten."""
import ctypes
import os
import re
import subprocess
import sys
import unittest

import harness

MAY_BE_NULL = {("rooftile_kernel_us", "interval_us"), ("rooftile_model_onnx", "dims"), ("rooftile_forecast_fields", "fields"),
               ("rooftile_report_json", "words")}  # lists of none
HEADER = (harness.SOURCE / "rooftile.h").read_text(encoding="utf-8")


def functions():
    """(result, name, [(type, name)]) of each."""
    for result, name, words in re.findall(r"ROOFTILE_PUBLIC\s+([\w \*]+?)\s*\b(rooftile_\w+)\(([^)]*)\);", HEADER):
        parameters = [] if words == "void" else [re.match(r"(.*?)(\w+)$", " ".join(p.split())).groups() for p in words.split(",")]
        yield result.strip(), name, [(kind.strip(), parameter) for kind, parameter in parameters]


def value_of(library, kind, name, made):
    """Something sound for a parameter."""
    if "**" in kind and "char" not in kind or kind == "char **":
        return ctypes.byref(ctypes.c_void_p())
    if "const char *const *" in kind:
        return (ctypes.c_char_p * 1)(b"batch=2")
    if "char" in kind:
        return ctypes.c_char_p({"key": b"sms", "call": b"gemm,m=64,n=64,k=64,dtype=fp16", "path": b"none.onnx"}.get(name, b"H100"))
    if kind in ("size_t", "int64_t"):
        return ctypes.c_size_t(1 if name == "count" else 0)
    for noun in ("device", "predictor", "model", "forecast"):
        if f"rooftile_{noun} *" in kind:
            return made[noun]
    return ctypes.create_string_buffer(4096)  # a struct or a number to fill


def make(library):
    made = {}
    for noun, opener, name in (("device", "device_find", b"H100"), ("predictor", "predictor_open", b"roofline"), ("model", "model_find", b"gpt2")):
        made[noun] = ctypes.c_void_p()
        assert getattr(library, f"rooftile_{opener}")(name, ctypes.byref(made[noun])) == 0
    made["forecast"] = ctypes.c_void_p()
    step = ctypes.create_string_buffer(4096)
    assert library.rooftile_forecast_step(made["predictor"], made["device"], made["model"], step, ctypes.byref(made["forecast"])) == 0
    return made


def call(name, absent):
    """In a process of its own: the parameter `absent` is NULL."""
    library = ctypes.CDLL(os.environ["ROOFTILE_LIBRARY"])
    library.rooftile_error.restype = ctypes.c_char_p
    made = make(library)
    result, _, parameters = next(f for f in functions() if f[1] == name)
    function = getattr(library, name)
    function.restype = ctypes.c_char_p if "char" in result else ctypes.c_int if result == "int" else None
    before = library.rooftile_error()
    got = function(*[None if p == absent else value_of(library, k, p, made) for k, p in parameters])
    said = library.rooftile_error()
    if name.endswith("_free"):
        assert said == before, said
    elif (name, absent) not in MAY_BE_NULL:
        assert b"NULL" in said and name.encode() in said, (got, said)
        assert got is None or got < 0 or (name == "rooftile_forecast_op" and got == 0), got
    elif absent != "interval_us":
        assert got < 0 and b"NULL" in said, (got, said)  # a list of one that is not there
    print("done")


class Null(harness.Case):
    def test_every_function(self):
        calls = [(name, p) for _, name, parameters in functions() for kind, p in parameters if "*" in kind]
        self.assertGreaterEqual(len(calls), 40)
        for name, parameter in calls:
            with self.subTest(f"{name}({parameter}=NULL)"):
                done = subprocess.run([sys.executable, __file__, name, parameter], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)

    def test_all_functions_are_read(self):
        self.assertEqual(len(list(functions())), HEADER.count("ROOFTILE_PUBLIC ") - HEADER.count("#define ROOFTILE_PUBLIC "))


if len(sys.argv) == 3 and sys.argv[1].startswith("rooftile_"):
    call(sys.argv[1], sys.argv[2])
elif __name__ == "__main__":
    unittest.main()
