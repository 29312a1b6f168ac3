"""A real browser before a page of ours: services/web/browser/remote.ts, led by a test in Python."""
import json
import os
import subprocess
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(REPO, "services", "insights", "page")


class Browser:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="pitwall-browser-")
        self.process = subprocess.Popen([os.path.join(PAGE, "build.sh"), self.folder.name, "node", "browser/remote.ts"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, do, selector=None, **more):
        command = dict({"do": do}, **more)
        if selector is not None:
            command["selector"] = selector
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise AssertionError("%s %s: %s" % (do, selector or more.get("url", ""), answer["error"]))
        return answer["value"]

    def open(self, url, selector):
        """In a browser that has seen nothing, until the selector is there and nothing more is read."""
        self.ask("open", url=url)
        self.ask("wait", selector)
        self.ask("gone", ".waiting")

    def all(self, selector, *fields):
        """[[attribute, …]] of each element; "": its text."""
        return self.ask("all", selector, fields=list(fields))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
