"""docs/examples/first_forecast.py as a user runs it."""
import importlib.util
import os
import re
import subprocess
import sys

import harness
import rooftile


class Example(harness.Case):
    def test_runs(self):
        done = subprocess.run([sys.executable, str(harness.SOURCE / "docs/examples/first_forecast.py")], cwd=self.folder, text=True,
                              capture_output=True, check=False, env={**os.environ, "MPLBACKEND": "agg", "MPLCONFIGDIR": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        step = rooftile.forecast("gpt2-large", "H100", batch=8, dtype="bf16")
        self.assertEqual(done.stdout.splitlines()[0], str(step))
        self.assertRegex(done.stdout, rf"(?m)^H100 +{step.time_ms:.2f} ms$")
        self.assertRegex(done.stdout, r"(?m)^ +all +all +13 ")
        pictures = ["ops.png", "gpus.png", "errors.png"] if importlib.util.find_spec("matplotlib") else ["gpus.html"]
        for name in pictures:
            self.assertGreater((self.folder / "first_forecast" / name).stat().st_size, 5000, name)

    def test_its_cells_are_cells(self):
        text = (harness.SOURCE / "docs/examples/first_forecast.py").read_text(encoding="utf-8")
        cells = re.split(r"(?m)^# %%", text)[1:]
        self.assertGreater(len(cells), 8)
        for cell in cells:
            prose, _, code = cell.partition("\n")
            self.assertIn(prose, ("", " [markdown]"))
            if prose:
                self.assertTrue(all(line.startswith("#") or not line for line in code.splitlines()))


if __name__ == "__main__":
    harness.main()
