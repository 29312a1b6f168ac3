# pitwall_unity(<target>): with PITWALL_UNITY, compiles several sources of the target as one. Most of a compilation is parsing the
# same headers and instantiating the same templates: a build takes about half as long. Used by the sanitizer builds and by the
# first build of tests/run.sh and deploy/demo.sh. The preset dev and the stage tidy compile file by file, which detects missing
# includes. unity.py chooses the groups. With PITWALL_UNITY_TESTS, only test binaries are built this way.
option(PITWALL_UNITY "Compile several sources of a module as one" OFF)
# With 12 files per group, the engine takes 43 s of CPU time; with 6, it takes 58 s. A group instantiates each template only once.
set(PITWALL_UNITY_FILES 12)
option(PITWALL_UNITY_TESTS "Compile several sources of a test binary as one" ${PITWALL_UNITY})
if(PITWALL_UNITY OR PITWALL_UNITY_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# pitwall_precompile(<target> <kind>): with PITWALL_UNITY, takes the most frequent headers from one precompiled header per kind:
# library, or test, which adds GoogleTest. Parsing them takes 4 to 5 seconds per compilation. The build without PITWALL_UNITY
# detects missing includes.
function(pitwall_precompile target kind)
  if(NOT PITWALL_UNITY)
    return()
  endif()
  set(provider pitwall_precompiled_${kind})
  if(NOT TARGET ${provider})
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc "")
    add_library(${provider} OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc)
    target_compile_options(${provider} PRIVATE ${PITWALL_WARNINGS})  # -Wpedantic defines macros
    target_link_libraries(${provider} PRIVATE absl::btree absl::flat_hash_map absl::flat_hash_set absl::statusor absl::strings absl::time)
    target_precompile_headers(${provider} PRIVATE
      <algorithm> <array> <atomic> <charconv> <cmath> <condition_variable> <cstdint> <deque> <filesystem> <fstream> <functional> <limits> <map> <memory>
      <mutex> <optional> <random> <set> <span> <sstream> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <variant> <vector>
      <absl/container/btree_map.h> <absl/container/btree_set.h> <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
      <absl/status/statusor.h> <absl/time/time.h>)
    if(kind STREQUAL test)
      target_link_libraries(${provider} PRIVATE GTest::gmock)
      target_precompile_headers(${provider} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
      target_compile_options(${provider} PRIVATE ${PITWALL_TEST_OPTIMIZATION})
    elseif(PITWALL_FUZZ)
      target_compile_options(${provider} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${provider})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:${PITWALL_FLOW_WARNINGS}>)
endfunction()

# pitwall_test_code(<target>): compiles the sources of a test with less optimization than shipped code, several as one, and with a
# precompiled header for GoogleTest.
function(pitwall_test_code target)
  target_compile_options(${target} PRIVATE ${PITWALL_WARNINGS} ${PITWALL_TEST_OPTIMIZATION})
  pitwall_unity(${target} test)
endfunction()

# pitwall_test_program(<target>): the same for a program or library that tests use and that does not include GoogleTest. It is linked
# because the precompiled header of tests contains it.
function(pitwall_test_program target)
  pitwall_test_code(${target})
  target_link_libraries(${target} PRIVATE GTest::gmock)
endfunction()

# pitwall_unity(<target> [test])
function(pitwall_unity target)
  get_target_property(type ${target} TYPE)
  if(NOT PITWALL_UNITY AND NOT (PITWALL_UNITY_TESTS AND type STREQUAL EXECUTABLE))
    return()
  endif()
  if(ARGC GREATER 1)
    pitwall_precompile(${target} test)
  else()
    pitwall_precompile(${target} library)
  endif()
  # A unity build allows two warnings: a local name that another file also uses, and an unnamed namespace in what looks like an included file.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(absolute ${sources})
  list(TRANSFORM absolute PREPEND ${folder}/ REGEX "^[^/]")
  # A new name in a file may clash with a name of another file in its group.
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${absolute})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/unity.py ${PITWALL_UNITY_FILES} ${sources} WORKING_DIRECTORY ${folder}
                  OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
