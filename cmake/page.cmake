# Toolchain of the web page: Node and its packages, installed by deploy/install-deps.sh. Every configuration checks it before searching for libraries,
# because a server without its page appears to work. Sanitizer builds exclude the page and do not need the toolchain.
option(PITWALL_PAGE "Build the web page into the server" ON)
if(PITWALL_ADAPTERS AND PITWALL_PAGE)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/services/web/toolchain.sh expected RESULT_VARIABLE page_toolchain)
  if(NOT page_toolchain EQUAL 0)
    message(FATAL_ERROR "page: the toolchain of the web page is not installed; run\n"
                        "  ${CMAKE_SOURCE_DIR}/deploy/install-deps.sh build\n"
                        "and configure again. -DPITWALL_PAGE=OFF builds a server without the page.")
  endif()
endif()
