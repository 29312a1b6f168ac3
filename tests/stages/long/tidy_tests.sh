# clang-tidy for the tests too.
exec bash "$(dirname "$0")/tidy.sh" --tests
