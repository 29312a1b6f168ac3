# Warnings, optimization, and sanitizers for all targets of this repository.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(PITWALL_CCACHE ccache)
if(PITWALL_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${PITWALL_CCACHE})
  # Without these settings, ccache does not store objects compiled with a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros ${PITWALL_CCACHE})
endif()

# -ffp-contract=off: a fused multiply-add rounds differently, and live and replayed results must be bit-identical on all machines
# (time-model.md, section 2, rule 8). Never use -ffast-math.
#
# -pthread everywhere: it defines a macro, and a precompiled header can be used only with the same macros.
add_compile_options(-ffp-contract=off -fno-omit-frame-pointer -pthread)
option(PITWALL_WERROR "Treat warnings as errors" ON)
set(PITWALL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${PITWALL_WERROR}>:-Werror>
    -Wno-missing-field-initializers)  # designated initializers intentionally leave members at their defaults
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  list(APPEND PITWALL_WARNINGS -Wthread-safety)
else()
  # gcc 12's flow analysis reports false positives for absl::InlinedVector, with -O2 and under sanitizers.
  list(APPEND PITWALL_WARNINGS -Wno-error=maybe-uninitialized)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
# gcc 12 reports false positives in std::string's own code at -O1, and with a precompiled header, which is not a system header.
set(PITWALL_FLOW_WARNINGS -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
# Flags for test code and for modules marked COLD. Code generation takes most of a compilation: with gcc 12, the largest test files take 14 s at
# -O0 and 22 s at -O1; the largest file of rules/plan takes 10 s at -O1 and 15 s at -O2. Libraries under test keep the flags above.
set(PITWALL_TEST_OPTIMIZATION)
set(PITWALL_COLD_OPTIMIZATION)
if(PITWALL_SANITIZE)
  set(PITWALL_TEST_OPTIMIZATION -O0)
elseif(CMAKE_BUILD_TYPE STREQUAL Release)
  set(PITWALL_TEST_OPTIMIZATION -O0 $<$<CXX_COMPILER_ID:GNU>:${PITWALL_FLOW_WARNINGS}>)
  set(PITWALL_COLD_OPTIMIZATION -O1 $<$<CXX_COMPILER_ID:GNU>:${PITWALL_FLOW_WARNINGS}>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # By default gcc collects garbage from 128 MiB on, which takes a tenth of the compilation time. With enough memory, it starts at 512 MiB.
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
  if(memory GREATER 7000)
    add_compile_options(--param=ggc-min-heapsize=524288)
  endif()
endif()
if(PITWALL_SANITIZE)
  add_compile_options(-fsanitize=${PITWALL_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PITWALL_SANITIZE})
  add_compile_definitions(PITWALL_SANITIZED=1)
endif()
