# Address and undefined-behavior sanitizers for the modules that read untrusted bytes or store job state. Stage asan_long covers all modules.
. "$(dirname "$0")/parts/stage.sh"
exec bash "$(dirname "$0")/parts/sanitizer.sh" asan-ubsan "${asan_modules[@]}"
