# Address and undefined-behaviour sanitizers over the modules that read foreign bytes or hold the state of jobs. The stage asan_long takes all.
. "$(dirname "$0")/common.sh"
exec bash "$(dirname "$0")/sanitizer.sh" asan-ubsan "${asan_modules[@]}"
