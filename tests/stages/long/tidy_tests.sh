# Runs clang-tidy on the tests too.
exec bash "$(dirname "$0")/tidy.sh" --tests
