#!/usr/bin/env python3
"""notify_docs_test.py PITWALL: checks that the binary accepts each configuration in docs/notify.md, docs/actions.md, and docs/install.md, and that
its --print-config output is stable."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def printed(pitwall, text, service="notifier"):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([pitwall, service, "--config", file.name, "--print-config"], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stdout, done.stderr


def main():
    pitwall = os.path.abspath(sys.argv[1])
    with open(os.path.join(ROOT, "docs", "notify.md"), encoding="utf-8") as page:
        blocks = re.findall(r"```yaml\n(.*?)```", page.read(), re.S)
    failed = 0
    for block in blocks:
        code, out, error = printed(pitwall, block)
        again = printed(pitwall, out)
        names = set(re.findall(r"name: ([a-z-]+)", block))
        if code or again[:2] != (0, out) or not all("name: %s" % name in out.replace("'", "") for name in names):
            failed += 1
            print("configuration is rejected, or --print-config output is not stable:\n%s\n%s" % (
                block, error or "its own output is read as %r" % (again[2] or "another configuration")), file=sys.stderr)
    with open(os.path.join(ROOT, "docs", "configuration.md"), encoding="utf-8") as page:
        kinds = re.findall(r"^\| `notifier\.(\w+)` \| list \|", page.read(), re.M)
    missing = [kind for kind in kinds if not any("  %s:" % kind in b for b in blocks)]
    if missing or len(kinds) < 6:
        failed += 1
        print("docs/notify.md: no example of %s, of the lists %s" % (missing, kinds), file=sys.stderr)
    # Executor configurations. tests/helm checks the chart's values and Role.
    stops = []
    for name in ("actions.md", "install.md"):
        with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as page:
            stops += re.findall(r"```(?:yaml)?\n(executor:\n.*?)```", page.read(), re.S)
    for block in stops:
        code, out, error = printed(pitwall, block, "executor")
        if code or printed(pitwall, out, "executor")[:2] != (0, out):
            failed += 1
            print("configuration is rejected, or --print-config output is not stable:\n%s\n%s" % (block, error), file=sys.stderr)
    if len(stops) < 4:
        failed += 1
        print("docs: expected at least 4 executor configurations (found %d)" % len(stops), file=sys.stderr)
    wrong = [("notifier: {slack: [{name: a, url: \"https://hooks.slack.com/x\"}]}", "location of a secret"),
             ("notifier: {email: [{name: a, host: h, from: nobody, to: [a@b.c]}]}", "must be an ASCII e-mail address"),
             ("notifier: {gateways: [{name: a, url: \"https://x\", body: '{\"a\": {{ $labels.text }}}'}]}", "must be JSON"),
             ("notifier: {routes: [{matchers: ['severity=critical'], receivers: [pager]}]}", "not found"),
             ("notifier: {webhooks: [{name: a, url: \"https://x\"}], alertmanagers: [{name: a, urls: [\"https://x\"]}]}", "not unique"),
             ("notifier: {webhooks: [{name: a, url: \"https://x\"}], routes: [{matchers: ['severity:x'], receivers: [a]}]}", "expected =")]
    for text, said in wrong:
        code, _, error = printed(pitwall, text)
        if code != 2 or said not in error:
            failed += 1
            print("exit code %d, or the error does not contain %r:\n%s\n%s" % (code, said, text, error), file=sys.stderr)
    print("%d passed, %d failed" % (len(blocks) + 1 + len(stops) + len(wrong) - failed, failed))
    return 1 if failed else 0


sys.exit(main())
