"""The library from Python: found, checked, errors as exceptions, objects freed, called by threads."""
import gc
import os
import re
import shutil
import subprocess
import sys
import threading
import unittest
import weakref

import harness
import rooftile
from rooftile import _library

# A library of another version, and one that lacks a function.
FAKE = """
const char *rooftile_version(void) { return "%s"; }
const char *rooftile_error(void) { return ""; }
"""


def in_python(code, **environment):
    """The code in a Python of its own, where the library is not loaded yet."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


class Finding(harness.Case):
    def fails_saying(self, words, **environment):
        done = in_python("import rooftile\ntry:\n    rooftile.version()\nexcept rooftile.LibraryNotFoundError as error:\n"
                         "    assert isinstance(error, ImportError)\n    print(error)", **environment)
        self.assertIn(words, done.stdout, done.stderr)

    def make(self, name, text):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("no C compiler")
        source, made = self.folder / f"{name}.c", self.folder / f"{name}.so"
        source.write_text(text, encoding="utf-8")
        subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
        return str(made)

    def test_absent(self):
        self.fails_saying("build it (cmake", ROOFTILE_LIBRARY=str(self.folder / "none.so"))

    def test_no_library(self):
        (self.folder / "text.so").write_text("no library", encoding="utf-8")
        self.fails_saying("name the file in ROOFTILE_LIBRARY", ROOFTILE_LIBRARY=str(self.folder / "text.so"))

    def test_lacks_functions(self):
        self.fails_saying("has no rooftile_device_find", ROOFTILE_LIBRARY=self.make("lacking", FAKE % "9.9.9"))

    def test_older(self):
        names = [name for name in _library._FUNCTIONS if name not in ("rooftile_version", "rooftile_error")]
        text = FAKE % "0.0.9" + "".join(f"int {name}(void) {{ return 0; }}\n" for name in names)
        self.fails_saying("is librooftile 0.0.9, and this module needs", ROOFTILE_LIBRARY=self.make("older", text))

    def test_newer(self):
        names = [name for name in _library._FUNCTIONS if name not in ("rooftile_version", "rooftile_error")]
        text = FAKE % "0.12.0" + "".join(f"int {name}(void) {{ return 0; }}\n" for name in names)
        done = in_python("import rooftile; print(rooftile.version())", ROOFTILE_LIBRARY=self.make("newer", text))
        self.assertEqual(done.stdout, "0.12.0\n", done.stderr)

    def test_import_loads_nothing(self):
        done = in_python("import rooftile; print(rooftile.__version__)", ROOFTILE_LIBRARY="/nowhere.so")
        self.assertEqual(done.stdout, rooftile.__version__ + "\n", done.stderr)

    def test_checkout(self):
        if os.path.realpath(os.path.dirname(harness.PROGRAM)) != os.path.realpath(harness.SOURCE / "build"):
            self.skipTest("this build is not in build/")
        environment = {name: value for name, value in os.environ.items() if name != "ROOFTILE_LIBRARY"}
        done = subprocess.run([sys.executable, "-c", "import rooftile; print(rooftile.version())"], capture_output=True,
                              text=True, check=False, env=environment)
        self.assertEqual(done.stdout, rooftile.__version__ + "\n", done.stderr)

    def test_versions_agree(self):
        cmake = (harness.SOURCE / "CMakeLists.txt").read_text(encoding="utf-8")
        self.assertEqual(rooftile.__version__, re.search(r"project\(rooftile VERSION ([0-9.]+)", cmake)[1])
        self.assertEqual(rooftile.version(), rooftile.__version__)

    def test_declarations_are_the_header(self):
        header = (harness.SOURCE / "rooftile.h").read_text(encoding="utf-8")
        declared = dict(re.findall(r"\*?\b(rooftile_[a-z0-9_]+)\(([^;]*)\);", header))
        for name, (_, arguments) in _library._FUNCTIONS.items():
            wanted = 0 if declared[name] == "void" else declared[name].count(",") + 1
            self.assertEqual(len(arguments), wanted, name)

    def test_pip_installs_offline(self):
        if subprocess.run([sys.executable, "-c", "import setuptools, wheel, pip"], capture_output=True, check=False).returncode:
            self.skipTest("no pip, setuptools and wheel")
        shutil.copytree(harness.SOURCE / "python", self.folder / "python")  # pip writes beside what it builds
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps",
                        "--target", str(self.folder / "installed"), str(self.folder / "python")], capture_output=True, check=True)
        done = in_python("import rooftile; print(rooftile.__file__, rooftile.version())", PYTHONPATH=str(self.folder / "installed"))
        self.assertIn(str(self.folder / "installed"), done.stdout, done.stderr)
        self.assertTrue((self.folder / "installed/rooftile/py.typed").exists())

    def test_types(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            self.skipTest("no mypy")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(self.folder / "mypy"),
                               str(harness.SOURCE / "python/rooftile")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


class Errors(harness.Case):
    def refuses(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def test_sentences(self):
        error = self.refuses(rooftile.RooftileError, 'unknown GPU "H1000"', lambda: rooftile.forecast("gpt2", "H1000"))
        self.assertLess(error.status, 0)
        self.refuses(rooftile.RooftileError, "no option --colour", lambda: rooftile.forecast("gpt2", "H100", colour=1))
        self.refuses(rooftile.RooftileError, "unknown GPU", lambda: rooftile.Device("nothing"))
        self.refuses(rooftile.RooftileError, "none.h5", lambda: rooftile.Predictor("none.h5"))
        self.refuses(rooftile.RooftileError, 'dim "n" of gemm is missing', lambda: rooftile.kernel("gemm,m=3", "H100"))
        self.refuses(rooftile.RooftileError, "is no number of a device", lambda: rooftile.Device("H100")["colour"])
        self.refuses(rooftile.RooftileError, "collect is no report of librooftile", lambda: rooftile.report("collect"))
        self.refuses(rooftile.RooftileError, "--help is no report", lambda: rooftile.report("predict", help=True))
        self.refuses(rooftile.RooftileError, "curves over shares",
                     lambda: rooftile.forecast("gpt2", "H100", sm_share="50,100", predictor="roofline"))

    def test_wrong_types(self):
        self.refuses(TypeError, "is no name and no path", lambda: rooftile.forecast(3, "H100"))
        self.refuses(TypeError, "rooftile.sweep", lambda: rooftile.forecast("gpt2", ["H100", "L4"]))
        self.refuses(TypeError, "rooftile.sweep", lambda: rooftile.forecast("gpt2", "H100", batch=[1, 2]))
        self.refuses(TypeError, "neither text nor number", lambda: rooftile.forecast("gpt2", "H100", batch=object()))
        self.refuses(TypeError, "neither text nor number", lambda: rooftile.sweep("gpt2", "H100", batch=[1, None]))
        self.refuses(TypeError, "", lambda: rooftile.Device(7))
        self.refuses(ValueError, "empty list", lambda: rooftile.sweep("gpt2", []))
        self.refuses(ValueError, "holds a NUL", lambda: rooftile.Device("H100\0"))

    def test_a_failure_of_one_thread_is_its_own(self):
        said = {}

        def fail(name):
            for _ in range(50):
                try:
                    rooftile.Device(name)
                except rooftile.RooftileError as error:
                    said.setdefault(name, set()).add(str(error).split(";")[0])

        threads = [threading.Thread(target=fail, args=(f"none{i}",)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(said, {f"none{i}": {f'unknown GPU "none{i}"'} for i in range(6)})

    def test_names_beyond_ascii(self):
        path = self.folder / "größe 量.json"
        path.write_text(harness.json.dumps(rooftile.Device("L4").to_dict()), encoding="utf-8")
        self.assertEqual(rooftile.Device(path)["sms"], rooftile.Device("L4")["sms"])
        self.assertEqual(rooftile.forecast("gpt2-large", path, predictor="roofline", seq=8).gpu, rooftile.Device("L4").name)


class Memory(harness.Case):
    def test_objects_are_freed_once(self):
        freed = []

        class Counting:
            """The library, and what is freed of it."""

            def __getattr__(self, name):
                function = getattr(real, name)
                return function if not name.endswith("_free") else lambda handle: (freed.append(handle), function(handle))

        real = _library.library()
        _library._library = Counting()
        try:
            objects = [rooftile.Device("H100,sms=100") for _ in range(100)] + [rooftile.Predictor("roofline") for _ in range(3)]
        finally:
            _library._library = real
        handles, gone = [thing.handle for thing in objects], [weakref.ref(thing) for thing in objects]
        self.assertEqual(freed, [])
        del objects
        gc.collect()
        self.assertEqual([ref() for ref in gone], [None] * 103)
        self.assertEqual(sorted(freed), sorted(handles))

    def test_many_reports_leave_nothing(self):
        def pages():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1])

        for _ in range(20):
            rooftile.report("devices", "H100")
            rooftile.Device("H100")
        before = pages()
        for _ in range(1000):
            rooftile.report("devices", "H100")
            rooftile.Device("H100")
        self.assertLess((pages() - before) * os.sysconf("SC_PAGE_SIZE"), 2 << 20)  # a leak of one report would be 2.5 MB

    def test_threads_get_the_same(self):
        wanted = rooftile.forecast("gpt2-large", "H100", batch=2, seq=64)
        kernel = rooftile.kernel("gemm,m=512,n=512,k=512", "L4")
        wrong = []

        def ask(number):
            for _ in range(4):
                got = rooftile.forecast("gpt2-large", "H100", batch=2, seq=64)
                if got != wanted or rooftile.kernel("gemm,m=512,n=512,k=512", "L4") != kernel:
                    wrong.append(number)
                if rooftile.Device(f"H100,sms={number + 1}")["sms"] != number + 1:
                    wrong.append(number)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    harness.main()
