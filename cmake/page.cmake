# Toolchain of the web page: Node and its packages, which deploy/install-deps.sh installs. Checked at every configuration, before the libraries
# are searched, since a server without its page looks like one that works. Sanitizer builds stop below the page and do not need it.
option(PITWALL_PAGE "Build the web page into the server" ON)
if(PITWALL_ADAPTERS AND PITWALL_PAGE)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/services/web/toolchain.sh expected RESULT_VARIABLE page_toolchain)
  if(NOT page_toolchain EQUAL 0)
    message(FATAL_ERROR "page: the toolchain of the web page is not installed; run\n"
                        "  ${CMAKE_SOURCE_DIR}/deploy/install-deps.sh build\n"
                        "and configure again. -DPITWALL_PAGE=OFF builds a server without the page.")
  endif()
endif()
