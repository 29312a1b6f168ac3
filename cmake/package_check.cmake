# Check that runs before CPack creates a Debian package. Without dpkg-shlibdeps, CPack would create a package without library dependencies.
find_program(shlibdeps dpkg-shlibdeps PATHS ENV PATH NO_DEFAULT_PATH)
if(NOT shlibdeps)
  message(FATAL_ERROR "package: dpkg-shlibdeps is not installed, so the package would not depend on its libraries; run\n"
                      "  deploy/install-deps.sh build")
endif()
