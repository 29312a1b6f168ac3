// Checks for internal invariants. Not for input validation: invalid input must result in an error
// Status.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PITWALL_CHECK(condition)                                                         \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

// Like PITWALL_CHECK, for a Status that must be OK. Prints its message.
#define PITWALL_CHECK_OK(status)                                                           \
  do {                                                                                     \
    const auto& pitwall_checked = (status);                                                \
    if (!pitwall_checked.ok()) {                                                           \
      std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\n", __FILE__, __LINE__, #status, \
                   static_cast<int>(pitwall_checked.message().size()),                     \
                   pitwall_checked.message().data());                                      \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)
