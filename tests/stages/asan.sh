# Address and undefined-behavior sanitizers for the modules that read foreign bytes or hold the state of jobs. Stage asan_long covers all modules.
. "$(dirname "$0")/common.sh"
exec bash "$(dirname "$0")/sanitizer.sh" asan-ubsan "${asan_modules[@]}"
