// Child process with a memory limit, for tests of input that tries to exhaust memory.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace pitwall {

// Runs `body` in a child process that may map at most `bytes` of additional memory. Returns its
// exit status, or -1 if it was terminated by a signal or a failed allocation. Under sanitizers,
// which reserve address space, the limit is disabled.
template <typename Body>
int RunWithMemoryLimit(size_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    unsigned long pages = 0;
    if (std::FILE* file = std::fopen("/proc/self/statm", "r"); file != nullptr) {
      if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
      std::fclose(file);
    }
    const rlim_t limit = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit both{limit, limit};
    const rlimit no_core{0, 0};
    if (pages == 0 || setrlimit(RLIMIT_AS, &both) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0)
      std::_Exit(99);
#endif
    std::_Exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace pitwall
