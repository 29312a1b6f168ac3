#!/usr/bin/env python3
"""Checks a server's web page: served_page.py URL [--browser].

Fetches the page at URL/ and every script and style sheet that it references. --browser also opens the page in a real browser. The browser must show
the list of jobs without console errors.
"""
import os
import re
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "insights"))

TYPES = {".js": "text/javascript", ".css": "text/css"}


def fetch(url, kind):
    """Returns the response text. Raises if the response is not 200 with this type and a body."""
    with urllib.request.urlopen(url, timeout=30) as response:
        found, body = response.headers.get_content_type(), response.read().decode()
    if found != kind or not body:
        raise AssertionError("%s: expected %s with a body, got %s with %d bytes" % (url, kind, found, len(body)))
    return body


def check(url):
    """Returns the paths of the scripts and style sheets that the page references."""
    index = fetch(url + "/", "text/html")
    paths = re.findall(r'<(?:script|link)\b[^>]*\b(?:src|href)="(/assets/[^"]+)"', index)
    for path in paths:
        fetch(url + path, TYPES[os.path.splitext(path)[1]])
    for suffix in TYPES:
        if not any(path.endswith(suffix) for path in paths):
            raise AssertionError("%s/: the page names no file %s, only %s" % (url, suffix, paths))
    return paths


def check_in_browser(url):
    from browser import Browser
    shown = Browser()
    try:
        shown.open(url + "/", "main h1")
        titles, faults = shown.all("main h1", ""), shown.ask("faults")
    finally:
        shown.close()
    if titles != [["Jobs"]] or faults:
        raise AssertionError("%s/: the browser shows the titles %s and reports %s" % (url, titles, faults))


if __name__ == "__main__":
    address = sys.argv[1].rstrip("/")
    print("%s: the page and %d files" % (address, len(check(address))))
    if "--browser" in sys.argv[2:]:
        check_in_browser(address)
        print("%s: shown by a browser" % address)
