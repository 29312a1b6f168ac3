# Third-party libraries. Each library is found only once. The versions of Debian 12 are the minimum; newer versions must work too.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl CONFIG REQUIRED)
# Debian does not ship protobuf-config.cmake, and the module must come before gRPC's config.
find_package(Protobuf REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
if(NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 exports only the plain name
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# The prefix must not be "re2": gRPC's config reads a cached re2_FOUND and would then not search for its own target.
pkg_check_modules(re2_package REQUIRED IMPORTED_TARGET re2)
find_package(Snappy CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)

if(PITWALL_ADAPTERS)
  pkg_check_modules(rdkafka REQUIRED IMPORTED_TARGET rdkafka)
  find_package(gRPC CONFIG REQUIRED)
  find_package(Boost 1.74 REQUIRED)
  find_package(CURL REQUIRED)
  find_package(OpenSSL REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
endif()
