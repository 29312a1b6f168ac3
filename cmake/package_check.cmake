# Check before a Debian package is made. Without dpkg-shlibdeps CPack continues with a package that depends on none of its libraries.
find_program(shlibdeps dpkg-shlibdeps PATHS ENV PATH NO_DEFAULT_PATH)
if(NOT shlibdeps)
  message(FATAL_ERROR "package: dpkg-shlibdeps is not installed, so the package would not depend on its libraries; run\n"
                      "  deploy/install-deps.sh build")
endif()
