# The thread sanitizer for modules that start threads (cmake/modules.cmake). It needs its fixed addresses, which a kernel with strong address
# randomization may not leave free.
if setarch "$(uname -m)" -R true 2>/dev/null; then
  exec setarch "$(uname -m)" -R bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
fi
exec bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
