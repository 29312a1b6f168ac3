# add_module(<folder> [COLD | TEST_CODE] [SRCS …] [HDRS …] [DEPS <folder>…] [LIBS <target>…] [TESTS …] [TEST_DEPS …] [TEST_LIBS …] [TEST_DATA …])
#
# Declares the module that lives in <folder> (e.g. services/window), as library target services_window.
#
# Layering: the module gets one include root of its own, <build>/inc/<target>/, which holds a single link
# <build>/inc/<target>/services/window -> the source folder. A `#include "services/window/x.h"` therefore resolves
# only where the target links services_window: including a header of a module that is not in DEPS (or below one of
# them) fails with "No such file or directory". DEPS must have been declared before, so cycles cannot be written.
#
# Every header compiles alone: that of a source which includes it first does so there, and the target
# all_verify_interface_header_sets (run by the lint tests) compiles the others.
#
# COLD marks a module whose code runs per command, request, issue, or change of the configuration, not per sample. It is compiled with less optimization
# (cmake/compiler.cmake), which saves a third of its compilation time.
#
# TEST_CODE marks a module of tests that uses GoogleTest. It is compiled like a test.
#
# TESTS become one GoogleTest binary <target>_test, run by ctest under the same name. Under the thread sanitizer only modules that start
# threads have one, or depend on a module that does: nothing else can race.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

# With sanitizers, a library is built only if a test or a fuzzer needs it.
set(PITWALL_TESTED_ONLY OFF)
if(PITWALL_SANITIZE)
  set(PITWALL_TESTED_ONLY ON)
endif()

function(pitwall_module_target folder out)
  string(REPLACE "/" "_" name ${folder})
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# Returns whether a source with the same name includes this header first, which compiles the header on its own.
function(pitwall_has_source out folder header)
  set(${out} FALSE PARENT_SCOPE)
  string(REGEX REPLACE "\\.h$" ".cc" source ${header})
  if(source IN_LIST ARGN AND EXISTS ${CMAKE_SOURCE_DIR}/${folder}/${source})
    file(STRINGS ${CMAKE_SOURCE_DIR}/${folder}/${source} first REGEX "^#include" LIMIT_COUNT 1)
    if(first STREQUAL "#include \"${folder}/${header}\"")
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Returns whether a module, or a module on which it depends, starts threads in its sources or tests.
function(pitwall_starts_threads out)
  cmake_parse_arguments(M "" "" "FILES;DEPS" ${ARGN})
  set(${out} FALSE PARENT_SCOPE)
  foreach(file IN LISTS M_FILES)
    file(STRINGS ${file} found REGEX "std::j?thread|std::async|pthread_create" LIMIT_COUNT 1)
    if(found)
      set(${out} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
  foreach(dep IN LISTS M_DEPS)
    pitwall_module_target(${dep} target)
    get_property(threads GLOBAL PROPERTY PITWALL_THREADS_${target})
    if(threads)
      set(${out} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# pitwall_registered(<out> <list> <macro> <suffix>)
#
# Sets <out>_SRCS to the sources that a list of rows registers, and <out>_TESTS to the tests beside it. The list is an .inc file; a row begins with
# <macro>(<name>, and its source is <name><suffix> in the folder of the list. A source without a row is an error, because nothing would call it.
function(pitwall_registered out list macro suffix)
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  get_filename_component(folder ${here}/${list} DIRECTORY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${here}/${list})
  file(STRINGS ${list} rows REGEX "^${macro}[(]")
  set(sources)
  foreach(row IN LISTS rows)
    string(REGEX MATCH "^${macro}[(]([a-z0-9_]+)," matched "${row}")
    if(NOT matched)
      message(FATAL_ERROR "${here}/${list}: a row must begin with ${macro}(name, (got ${row})")
    endif()
    file(RELATIVE_PATH source ${here} ${folder}/${CMAKE_MATCH_1}${suffix})
    list(APPEND sources ${source})
  endforeach()
  file(GLOB found RELATIVE ${here} CONFIGURE_DEPENDS ${folder}/*${suffix})
  file(GLOB tests RELATIVE ${here} CONFIGURE_DEPENDS ${folder}/*_test.cc)
  list(REMOVE_ITEM found ${sources} ${tests})
  if(found)
    message(FATAL_ERROR "${here}/${list}: no row for ${found}; add ${macro}(name, …)")
  endif()
  set(${out}_SRCS ${sources} PARENT_SCOPE)
  set(${out}_TESTS ${tests} PARENT_SCOPE)
endfunction()

function(add_module folder)
  cmake_parse_arguments(M "COLD;TEST_CODE" "" "SRCS;HDRS;DEPS;LIBS;TESTS;TEST_DEPS;TEST_LIBS" ${ARGN})
  if(M_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "add_module(${folder}): unknown arguments ${M_UNPARSED_ARGUMENTS}")
  endif()
  pitwall_module_target(${folder} target)
  set(root ${CMAKE_BINARY_DIR}/inc/${target})
  get_filename_component(parent ${folder} DIRECTORY)
  file(MAKE_DIRECTORY ${root}/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)

  if(M_SRCS)
    add_library(${target} STATIC ${M_SRCS})
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ${PITWALL_TESTED_ONLY})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE ${PITWALL_WARNINGS})
    if(M_COLD)
      target_compile_options(${target} PRIVATE ${PITWALL_COLD_OPTIMIZATION})
    endif()
    if(PITWALL_FUZZ)  # libFuzzer needs coverage of every module, not only of its targets
      target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(M_TEST_CODE)
      pitwall_test_code(${target})
    else()
      pitwall_unity(${target})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  set(alone)
  set(with_source)
  foreach(header IN LISTS M_HDRS)
    pitwall_has_source(found ${folder} ${header} ${M_SRCS})
    if(found)
      list(APPEND with_source ${root}/${folder}/${header})
    else()
      list(APPEND alone ${root}/${folder}/${header})
    endif()
  endforeach()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${root} FILES ${alone})
  target_sources(${target} ${scope} FILE_SET with_source TYPE HEADERS BASE_DIRS ${root} FILES ${with_source})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  target_link_libraries(${target} ${scope} ${M_LIBS})
  foreach(dep IN LISTS M_DEPS)
    pitwall_module_target(${dep} dep_target)
    if(NOT TARGET ${dep_target})
      message(FATAL_ERROR "add_module(${folder}): ${dep} is not declared yet; dependencies only point down "
                          "(the top CMakeLists.txt has the order)")
    endif()
    target_link_libraries(${target} ${scope} ${dep_target})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY PITWALL_MODULES ${target})

  pitwall_starts_threads(threads FILES ${M_SRCS} ${M_HDRS} DEPS ${M_DEPS})
  set_property(GLOBAL PROPERTY PITWALL_THREADS_${target} ${threads})
  set(tested ${PITWALL_TESTS})
  if(tested AND PITWALL_SANITIZE STREQUAL thread AND NOT threads)
    pitwall_starts_threads(tested FILES ${M_TESTS})
  endif()
  if(M_TESTS AND tested)
    add_executable(${target}_test ${M_TESTS})
    pitwall_test_code(${target}_test)
    target_link_libraries(${target}_test PRIVATE ${target} ${M_TEST_LIBS} GTest::gmock GTest::gtest_main)
    foreach(dep IN LISTS M_TEST_DEPS)
      pitwall_module_target(${dep} dep_target)
      target_link_libraries(${target}_test PRIVATE ${dep_target})
    endforeach()
    add_test(NAME ${target} COMMAND ${target}_test --gtest_brief=1 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set(timeout 300)
    if(PITWALL_SANITIZE)
      set(timeout 900)
    endif()
    set_tests_properties(${target} PROPERTIES LABELS unit TIMEOUT ${timeout})
  endif()
endfunction()
