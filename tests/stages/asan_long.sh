# Address and undefined-behaviour sanitizers over all modules below the adapters.
exec bash "$(dirname "$0")/sanitizer.sh" asan-ubsan
