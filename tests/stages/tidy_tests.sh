# clang-tidy over the tests as well.
exec bash "$(dirname "$0")/tidy.sh" --tests
