# Thread sanitizer for modules that start threads (cmake/modules.cmake). The sanitizer requires fixed addresses. They may be unavailable on a kernel
# with strong address randomization.
if setarch "$(uname -m)" -R true 2>/dev/null; then
  exec setarch "$(uname -m)" -R bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
fi
exec bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
