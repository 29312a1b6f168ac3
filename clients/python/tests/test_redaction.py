"""Tests that secrets and directories are removed from exception messages before the text leaves the process."""
import time
import unittest

from support import ClientTest

from pitwall import _exit
from pitwall._redaction import redact

SECRET = "Zq8vXw4LmN2p"
# (text with %s in place of SECRET, expected redacted text)
SECRETS = (
    ("could not connect to postgresql://alice:%s@db.example:5432/runs", "could not connect to postgresql://***@db.example:5432/runs"),
    ("clone of https://%s@github.com/org/repo.git failed", "clone of https://***@github.com/org/repo.git failed"),
    ("redis://:%s@cache:6379 refused", "redis://***@cache:6379 refused"),
    ("https://alice:p@ss/%s@host/x is unreachable", "https://***@host/x is unreachable"),
    ("login as alice:%s@db.example", "login as ***@db.example"),
    ("password=%s is wrong", "password=*** is wrong"),
    ("Access denied (using password: '%s')", "Access denied (using password: ***)"),
    ("{'user': 'alice', 'password': '%s', 'port': 5432}", "{'user': 'alice', 'password': ***, 'port': 5432}"),
    ('{"api_key": "%s", "model": "m"}', '{"api_key": ***, "model": "m"}'),
    ("DB_PASSWORD=%s HOST=db", "DB_PASSWORD=*** HOST=db"),
    ("403 for https://bucket.s3.amazonaws.com/w.bin?X-Amz-Signature=%s&part=1",
     "403 for https://bucket.s3.amazonaws.com/w.bin?X-Amz-Signature=***&part=1"),
    ("GET /models?access_token=%s", "GET /models?access_token=***"),
    ("headers: Authorization: Bearer %s", "headers: Authorization: *** ***"),
    ("invalid header 'Bearer %s'", "invalid header 'Bearer ***'"),
    ("command failed: train --api-key %s --lr 0.1", "command failed: train --api-key *** --lr 0.1"),
    ("DefaultEndpointsProtocol=https;AccountKey=%s;EndpointSuffix=core", "DefaultEndpointsProtocol=https;AccountKey=***;EndpointSuffix=core"),
    ("https://host/api?key=%s", "https://host/api?key=***"),
    ("the token '%s' has expired", "the token  *** has expired"),
)
TOKENS = ("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", "sk-proj-abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
          "github_pat_11ABCDEFG0abcdefghijkl_mnop", "glpat-abcdefghijklmnopqrst", "xoxb-123456789012-abcdefghijkl", "AKIAIOSFODNN7EXAMPLE",
          "AIzaSyA-abcdefghijklmnopqrstuvwxyz012345", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
          "0123456789abcdef0123456789abcdef01234567", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
PATHS = (
    ("[Errno 2] No such file or directory: '/scratch/alice/secret-project/ckpt.pt'", "[Errno 2] No such file or directory: '…/ckpt.pt'"),
    ("cannot read ~/data/train.csv", "cannot read …/train.csv"),
    ("cannot open file:///scratch/data/a.bin", "cannot open …/a.bin"),
    (r"cannot open C:\Users\alice\run\a.pt", "cannot open …/a.pt"),
    (r"cannot open \\server\share\a.pt", "cannot open …/a.pt"),
)
UNCHANGED = (
    "'lr'", "boom", "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.10 GiB total capacity; 1.2 GiB free)",
    "mat1 and mat2 shapes cannot be multiplied (16x8 and 16x4)", "expected scalar type Half but found Float at layer.0.weight",
    "NCCL error in: ProcessGroupNCCL.cpp:1691, unhandled system error", "https://huggingface.co/org/model is unreachable",
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", "a/b is not 1/2",
    "CUDNN_STATUS_EXECUTION_FAILED when calling cudnnConvolutionBackwardFilterWithBiasGradient", "10.0.0.1:29500: connection refused",
    "max_tokens=512 is more than 256", "pad_token='<|endoftext|>' has no id", "token: 50257 is out of range", "unexpected key: layer.0.bias",
    "forward() got an invalid combination, expected signature: (Tensor input, int dim)", "no data/train/Part0001/file-00012.bin",
    "GPU-1b2c3d4e-0000-1111-2222-333344445555 is lost", "missing keys: transformer_encoder_layers_0_self_attention_weight", "the tokenizer has 32000 tokens and no pad token")


class RedactionTest(unittest.TestCase):
    def test_secrets_are_redacted(self):
        for text, published in SECRETS:
            with self.subTest(text=text):
                self.assertEqual(redact(text % SECRET, {}), published)

    def test_tokens_are_recognized_by_format(self):
        for token in TOKENS:
            with self.subTest(token=token):
                self.assertEqual(redact("rejected %s." % token, {}), "rejected ***.")

    def test_values_of_secret_variables_are_redacted(self):
        environment = {"WANDB_API_KEY": "correct horse", "HF_TOKEN": "battery-staple", "PWD": "/workspace", "TOKENIZERS_PARALLELISM": "false!",
                       "APP_SECRET": "abc", "KEYBOARD": "querty12"}
        self.assertEqual(redact("correct horse, battery-staple, false!, abc, querty12", environment), "***, ***, false!, abc, querty12")

    def test_directories_in_paths_are_redacted(self):
        for text, published in PATHS:
            with self.subTest(text=text):
                self.assertEqual(redact(text, {}), published)

    def test_common_error_messages_are_unchanged(self):
        for text in UNCHANGED:
            with self.subTest(text=text):
                self.assertEqual(redact(text, {}), text)

    def test_long_text_is_redacted_quickly(self):
        began = time.monotonic()
        for text in ("a" * 100000, "a:" * 50000, "password" * 10000, "/a" * 50000, "://@" * 20000, "token='" * 10000, "x-" * 50000, " " * 100000):
            redact(text, {})
        self.assertLess(time.monotonic() - began, 2)


class PublishedTest(ClientTest):
    FAIL = "raise ConnectionError('postgresql://alice:%s@db/x: no /scratch/alice/p/cert.pem')" % SECRET
    PUBLISHED = "ConnectionError: postgresql://***@db/x: no …/cert.pem"

    def ended(self, text, **environment):
        collector = self.collector()
        done = self.script("import pitwall, threading; pitwall.init(job='x')\n" + text, check=False, **environment)
        self.assertIn(SECRET, done.stderr)  # the process's own output is not redacted
        collector.wait_for(lambda c: c.messages("goodbye"))
        collector.close()
        return collector

    def test_exception_that_ends_process_is_redacted(self):
        self.assertEqual(self.ended(self.FAIL).messages("goodbye")[0]["exception"], self.PUBLISHED)

    def test_exception_handled_by_finish_is_redacted(self):
        text = "try:\n  %s\nexcept ConnectionError:\n  pitwall.finish('failed', 2); raise" % self.FAIL
        self.assertEqual(self.ended(text).messages("goodbye")[0]["exception"], self.PUBLISHED)

    def test_exception_with_replaced_hook_is_redacted(self):
        text = "import sys; sys.excepthook = lambda *error: print(error[1], file=sys.stderr)\n" + self.FAIL
        self.assertEqual(self.ended(text).messages("goodbye")[0]["exception"], self.PUBLISHED)

    def test_thread_name_and_exception_are_redacted(self):
        text = ("def work(): %s\nt = threading.Thread(target=work, name='fetch https://u:%s@host/x')\nt.start(); t.join()" % (self.FAIL, SECRET))
        values = self.ended(text).values()
        labels = {label["name"]: label["value"] for label in values[0]["labels"]}
        self.assertEqual(labels, {"exception": self.PUBLISHED, "thread": "fetch https://***@host/x"})

    def test_full_text_is_sent_if_enabled(self):
        text = self.ended(self.FAIL, PITWALL_EXCEPTION_TEXT="full").messages("goodbye")[0]["exception"]
        self.assertIn(SECRET, text)

    def test_secret_is_redacted_before_text_is_truncated(self):
        text = _exit.describe(ValueError("x" * 180 + " password=" + SECRET * 10))
        self.assertEqual(text, "ValueError: " + "x" * 180 + " password=***")


if __name__ == "__main__":
    unittest.main()
