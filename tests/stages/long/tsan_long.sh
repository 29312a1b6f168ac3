# Thread sanitizer for modules that start threads (cmake/modules.cmake). It needs fixed addresses, which may not be available on a kernel with strong
# address randomization.
if setarch "$(uname -m)" -R true 2>/dev/null; then
  exec setarch "$(uname -m)" -R bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
fi
exec bash "$(dirname "$0")/../parts/sanitizer.sh" tsan
