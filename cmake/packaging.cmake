# The Debian package: `cpack -G DEB` in the build folder. What the binary links is named by dpkg-shlibdeps.
install(TARGETS pitwall RUNTIME DESTINATION bin)
install(FILES deploy/debian/standalone.yaml deploy/debian/collector.yaml DESTINATION /etc/pitwall)
install(FILES deploy/debian/pitwall.service deploy/debian/pitwall-collector.service DESTINATION /lib/systemd/system)
install(FILES docs/configuration.md docs/rules.md docs/install.md DESTINATION share/doc/pitwall)
install(FILES LICENSE DESTINATION share/doc/pitwall RENAME copyright)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
install(CODE "execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/deploy/bom.py $<TARGET_FILE:pitwall>
  --out \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/pitwall COMMAND_ERROR_IS_FATAL ANY)")

set(CPACK_PACKAGE_NAME pitwall)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Pitwall <pitwall@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "watches machine-learning training jobs live")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "passwd, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "Collectors publish metrics of nodes, GPUs and training processes to a log. A stream processor evaluates\n\
 PromQL rules over them and says what is wrong with which job, and why.")
foreach(script IN ITEMS postinst prerm postrm conffiles)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/${script})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
