#!/usr/bin/env bash
# equal.sh BASE NEW [flags of tests/equal/equal.py]: compares two builds of the binary over all recordings. Exit status 0: equal.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/equal/equal.py" "$@"
