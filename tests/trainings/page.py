"""The page docs/accuracy.md. It consists of generated blocks, and the generator of each block leaves the rest of the page unchanged."""
import os

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(REPO, "docs", "accuracy.md")


def with_block(page, name, text):
    """Returns the page with this text in the block. A new block is appended to the page."""
    begin, end = "<!-- begin %s -->" % name, "<!-- end %s -->" % name
    block = "%s\n%s\n%s\n" % (begin, text.strip("\n"), end)
    if (page.count(begin), page.count(end)) == (0, 0):
        return page.rstrip("\n") + "\n\n" + block
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if page.count(begin) != 1 or page.count(end) != 1 or not closed:
        raise ValueError("docs/accuracy.md: the block %s must begin and end exactly once; fix its two marks" % name)
    return before + block + after.removeprefix("\n")


def write_block(name, text, path=PAGE):
    with open(path) as page:
        whole = page.read()
    changed = with_block(whole, name, text)
    with open(path + ".new", "w") as out:
        out.write(changed)
    os.replace(path + ".new", path)
