// Kernels of a device that move data between devices. All other kernels compute.
#pragma once

#include <span>
#include <string_view>

namespace pitwall::imports {

struct CommunicationPattern {
  std::string_view text;  // in lower case; found anywhere in the kernel's name, whatever its case
  std::string_view library;
  std::string_view source;  // where names like this are seen or defined
};

// One table for all importers; the Python client has the same texts (a test compares them).
std::span<const CommunicationPattern> CommunicationPatterns();

// `name` as traces show it: mangled or not, with or without return type, template and arguments. A
// template's arguments and a function's parameters do not count: a computation may be given the
// handle of a communicator.
bool IsCommunicationKernel(std::string_view name);

// Of copies: from one device to another ("Memcpy PtoP (Device -> Device)").
bool IsCopyBetweenDevices(std::string_view name);

}  // namespace pitwall::imports
