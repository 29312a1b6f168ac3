# Address and undefined-behaviour sanitizers.
exec bash "$(dirname "$0")/sanitizer.sh" asan-ubsan
