# pitwall_unity(<target>): with PITWALL_UNITY, compiles several sources of the target as one. Most of a compilation is parsing the same
# headers and instantiating the same templates: a build takes about half as long. The sanitizers are built that way, and the first build
# of tests/run.sh and deploy/demo.sh. The preset dev and the stage tidy compile file by file, which is how an include that a file does
# not have is found. Which files go together: unity.py. With PITWALL_UNITY_TESTS only test binaries are built that way.
option(PITWALL_UNITY "Compile several sources of a module as one" OFF)
# More files save little more parsing, and the last compilation would run alone on one core; a sanitizer's code is generated for longer.
set(PITWALL_UNITY_FILES 6)
if(PITWALL_SANITIZE)
  set(PITWALL_UNITY_FILES 12)
endif()
option(PITWALL_UNITY_TESTS "Compile several sources of a test binary as one" ${PITWALL_UNITY})
if(PITWALL_UNITY OR PITWALL_UNITY_TESTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

function(pitwall_unity target)
  get_target_property(type ${target} TYPE)
  if(NOT PITWALL_UNITY AND NOT (PITWALL_UNITY_TESTS AND type STREQUAL EXECUTABLE))
    return()
  endif()
  # Neither means a fault here: a local name like that of another file, and an unnamed namespace in what seems to be an included file.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(absolute ${sources})
  list(TRANSFORM absolute PREPEND ${folder}/ REGEX "^[^/]")
  # A new name in a file may clash with one of its group.
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${absolute})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/unity.py ${PITWALL_UNITY_FILES} ${sources} WORKING_DIRECTORY ${folder}
                  OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  foreach(source group IN ZIP_LISTS sources groups)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
