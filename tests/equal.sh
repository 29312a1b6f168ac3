#!/usr/bin/env bash
# equal.sh BASE NEW [flags of tests/equal/equal.py]: compares two builds of the binary over all recordings. Exits with 0 if they are equal.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/equal/equal.py" "$@"
