"""Runs the unittests of a file: a line "ok NAME", "not ok NAME" or "skipped NAME: why" for each, as scripts/test.sh counts."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["ROOFTILE_SOURCE"])
PROGRAM = os.environ["ROOFTILE"]


class Result(unittest.TestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        print(f"ok {test._testMethodName[len('test_'):]}", flush=True)

    def fail(self, test, text):
        print(f"not ok {getattr(test, '_testMethodName', str(test))[len('test_'):]}")
        print("\n".join("# " + line for line in text.strip().splitlines()[-12:]), flush=True)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fail(test, self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self.fail(test, self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.fail(test, (self.failures + self.errors)[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped {test._testMethodName[len('test_'):]}: {reason}", flush=True)


class Case(unittest.TestCase):
    """Has a folder that goes away, and the program beside the module."""

    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def program(self, *words):
        """What the program prints with --json."""
        done = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def run_program(self, *words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assertRefused(self, *words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (1, 2), done.stderr)


def has_onnx():
    """Was the library built with protobuf-c?"""
    done = subprocess.run([PROGRAM, "graph", "--model", str(SOURCE / "models/networks/zoo/vgg16.onnx"), "--dim", "batch=1"],
                          capture_output=True, text=True, check=False)
    return "built without ONNX" not in done.stderr


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = Result()
    suite.run(result)
    sys.exit(not result.wasSuccessful())
