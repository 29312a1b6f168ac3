# The thread sanitizer, over modules that start threads (cmake/modules.cmake).
# It needs its fixed addresses free, which a kernel with much randomisation may not leave.
if setarch "$(uname -m)" -R true 2>/dev/null; then
  exec setarch "$(uname -m)" -R bash "$(dirname "$0")/sanitizer.sh" tsan
fi
exec bash "$(dirname "$0")/sanitizer.sh" tsan
