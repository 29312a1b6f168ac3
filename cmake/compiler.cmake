# Warnings, optimisation and sanitizers: one place for every target of ours.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(PITWALL_CCACHE ccache)
if(PITWALL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PITWALL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PITWALL_CCACHE})
endif()

# -ffp-contract=off: a fused multiply-add rounds differently, and "live equals replay, to the bit" must hold across
# machines (time-model.md, section 2, rule 8). Never -ffast-math.
add_compile_options(-ffp-contract=off -fno-omit-frame-pointer)
option(PITWALL_WERROR "Treat warnings as errors" ON)
set(PITWALL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${PITWALL_WERROR}>:-Werror>
    -Wno-missing-field-initializers)  # designated initializers leave members at their defaults on purpose
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND PITWALL_WARNINGS -Wthread-safety)
else()
  # gcc 12's flow analysis reports absl::InlinedVector, with -O2 and under sanitizers.
  list(APPEND PITWALL_WARNINGS -Wno-error=maybe-uninitialized)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
if(PITWALL_SANITIZE)
  add_compile_options(-fsanitize=${PITWALL_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PITWALL_SANITIZE})
  add_compile_definitions(PITWALL_SANITIZED=1)
endif()
