# Address and undefined-behavior sanitizers for all modules below the adapters.
exec bash "$(dirname "$0")/../parts/sanitizer.sh" asan-ubsan
