"""A real browser that opens Pitwall's page, controlled from Python through services/web/browser/remote.ts."""
import json
import os
import subprocess
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(REPO, "services", "web")


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
        """Opens the URL in a fresh browser and waits until the selector exists and no request is pending."""
        self.ask("open", url=url)
        self.ask("wait", selector)
        self.ask("gone", ".waiting")

    def all(self, selector, *fields):
        """Returns [[attribute, …]] for each matching element. The attribute "" selects the element's text."""
        return self.ask("all", selector, fields=list(fields))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()
