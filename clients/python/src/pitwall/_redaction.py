"""Redaction of secrets and directories in text that leaves the process, such as exception messages.

The following parts are redacted: values of environment variables with names that indicate secrets; user names and passwords in URLs; values after a
name such as `password=` or `Authorization:`; tokens with a known format; and the directories of absolute paths, but not the file names. The text is
for human readers, so a false match costs less than a leaked secret.
"""
from __future__ import annotations

import os
import re
from typing import Mapping, Optional

REDACTED = "***"
MAX_LENGTH = 4096       # maximum number of characters read; the rest is truncated
AWS_SECRET = 40         # length of an AWS secret key in characters
MIN_SECRET = 6          # minimum length of an environment variable's value, because shorter values occur in ordinary words

_NAMES = (r"pass(?:word|wd|phrase)?|pwd|secret(?:s|[-_]?key)?|api[-_]?key|access[-_]?key(?:[-_]?id)?|account[-_]?key|private[-_]?key|"
          r"auth(?:orization)?|credentials?|cookie|session[-_]?(?:id|key)|dsn")
_SECRET_VARIABLE = re.compile(r"(?:^|_)(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRETS?|TOKENS?|(?:API|ACCESS|ACCOUNT|PRIVATE|SECRET|ENCRYPTION)_?KEY|APIKEY|"
                              r"AUTH|CREDENTIALS?|COOKIE|DSN|CONNECTION_STRING)(?:_|$)", re.I)
_NOT_SECRET = frozenset(("PWD", "OLDPWD"))  # directories

# Patterns and their replacements, applied in this order.
_RULES = tuple((re.compile(pattern), replacement) for pattern, replacement in (
    # scheme://user:password@host, or scheme://token@host. A password may contain "@" and, if not quoted, "/".
    (r"(\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s'\"<>]{1,1000}@(?=[\w.\[-])", r"\1***@"),
    (r"(?<![\w.:/@-])[\w.+-]{1,64}:[^\s:/@'\"]{1,200}@(?=[A-Za-z0-9\[])", r"***@"),
    (r"(?i)\b(bearer|basic|digest|negotiate)\s+(?=[^\s'\"]{8})[A-Za-z0-9._~+/=:-]+", r"\1 ***"),
    # name=value, name: value, "name": "value", --name value, and X-Amz-Signature=value. The name may be the suffix of a longer name.
    (r"(?i)(?<![a-z])((?:[\w.-]{0,60}[-_.])?(?:%s)[\"']?\s{0,3}(?:=|:(?!//)|=>)\s{0,3})(\"[^\"]*\"?|'[^']*'?|(?!\*\*\*)[^\s,;&\"')\]}]+)" % _NAMES, r"\1***"),
    # Language model tokens, such as "pad_token='<pad>'" and "token: 50257", are not secrets.
    (r"(?i)(?<![a-z])((?:[\w.-]{0,60}[-_.])?token[\"']?\s{0,3}(?:=|:(?!//)|=>)\s{0,3})(?!\d+\b)[\"']?[^\s,;&\"')\]}<>\[|*]{8,}[\"']?", r"\1***"),
    (r"(?i)([?&;](?:[\w.-]{0,60}[-_.])?(?:sig|signature|key|code)=)[^\s&;'\"]+", r"\1***"),
    (r"(?i)(--(?:[\w-]{0,60}-)?(?:token|%s))\s+(?!\*\*\*)[^\s-][^\s]*" % _NAMES, r"\1 ***"),
    (r"(?i)\b(password|passphrase|secret|token|api key|access key|credentials?)\s+(is|was|of|for)?\s*(['\"])[^'\"]+\3", r"\1 \2 ***"),
    # Tokens with a known format: Hugging Face, OpenAI, GitHub, GitLab, Slack, AWS, Google, npm, PyPI, Stripe, JWT.
    (r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}|\bsk-[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|"
     r"\bxox[a-z]-[\w-]{10,}|\b(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{12,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}|\bnpm_[A-Za-z0-9]{20,}|\bpypi-[\w-]{16,}|"
     r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|\beyJ[\w-]{8,}(?:\.[\w-]+){0,4}", REDACTED),
    (r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*", REDACTED),
    # Absolute paths, including those in file:// URLs, but not the path after the host of a URL.
    (r"(?<![\w.~/:>-])(?:file://)?~?/(?:[^\s/'\":,;()<>|]+/+)+", "…/"),
    (r"\b[A-Za-z]:\\(?:[^\\\s'\":,;<>|]+\\)+", "…/"),
    (r"\\\\(?:[^\\\s'\":,;<>|]+\\)+", "…/"),
))
_LONG = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_=-]{20,}(?![\w+/=-])")
_UUID = re.compile(r"(?:GPU-|MIG-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")  # name of a device or a run
_HEX = re.compile(r"[0-9a-fA-F]{32,}\Z")


def redact(text: object, environment: Optional[Mapping[str, str]] = None) -> str:
    """Returns the text without secrets and without the directories of paths."""
    text = str(text)[:MAX_LENGTH]
    for value in _secret_values(os.environ if environment is None else environment):
        text = text.replace(value, REDACTED)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return _LONG.sub(_redact_long, text)


def _secret_values(environment: Mapping[str, str]) -> list[str]:
    """Returns the values of secret environment variables, longest first, because one value may contain another."""
    found = {value.strip() for name, value in environment.items() if name not in _NOT_SECRET and _SECRET_VARIABLE.search(name)}
    return sorted((value for value in found if len(value) >= MIN_SECRET), key=len, reverse=True)


def _redact_long(match: re.Match[str]) -> str:
    """Redacts words that look random: many hexadecimal digits, or a mix of lowercase letters, uppercase letters, and digits. UUIDs and all other
    words, such as relative paths, are unchanged."""
    word = match.group()
    if _UUID.match(word):
        return word
    digits = sum(c.isdigit() for c in word)
    needed = 1 if len(word) == AWS_SECRET else 5 if "/" in word else 3
    mixed = len(word) >= (40 if "/" in word else 24) and digits >= needed and any(c.islower() for c in word) and any(c.isupper() for c in word)
    return REDACTED if mixed or (_HEX.match(word) and digits) else word
