"""Servers under load from Python: the program's figures."""
import harness
import rooftile

LOAD = dict(isl=64, osl=8)
WORDS = ["serve", "-m", "llama-2-7b", "--gpu", "H100", "--isl", "64", "--osl", "8"]


class Serve(harness.Case):
    def test_one_load(self):
        server = rooftile.serve("llama-2-7b", "H100", concurrency=4, max_tokens=256, **LOAD)
        said = self.program(*WORDS, "--concurrency", "4", "--max-tokens", "256")
        self.assertEqual(server.raw, said)
        self.assertEqual(server.latencies["TTFT"].p50_ms, [row for row in said["points"][0]["latencies"] if row["latency"] == "TTFT"][0]["p50_ms"])
        tokens = server.throughput["output tokens"]
        self.assertTrue(tokens.low < tokens.value < tokens.high)
        self.assertAlmostEqual(tokens.value, said["points"][0]["output_tokens"] / said["points"][0]["duration_s"])
        self.assertEqual((server.points, server.gpus), (said["points"], 1))
        self.assertIn("TPOT", server._repr_html_())

    def test_several_loads(self):
        server = rooftile.serve("llama-2-7b", "H100", concurrency=[1, 8], **LOAD)
        self.assertEqual(server.raw, self.program(*WORDS, "--concurrency", "1,8"))
        self.assertEqual([point["concurrency"] for point in server.points], [1, 8])
        self.assertEqual(server.latencies, {})
        self.assertEqual(server.points[1]["latencies"][0]["latency"], "TTFT")
        self.assertIn("concurrency", server._repr_html_())

    def test_what_cannot_be_served(self):
        for model, options in (("resnet50", LOAD), ("llama-2-7b", {})):
            with self.assertRaises(rooftile.RooftileError):
                rooftile.serve(model, "H100", concurrency=1, **options)


if __name__ == "__main__":
    harness.main()
