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
