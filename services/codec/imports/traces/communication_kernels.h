// Classification of device kernels that move data between devices. All other kernels count as
// computation.
#pragma once

#include <span>
#include <string_view>

namespace pitwall::imports {

struct CommunicationPattern {
  std::string_view text;  // in lower case; matches anywhere in the kernel's name, ignoring case
  std::string_view library;
  std::string_view source;  // place where such names occur or are defined
};

// Returns the table that all importers use. The Python client has a copy of the table, and a test
// compares the two.
std::span<const CommunicationPattern> CommunicationPatterns();

// Accepts names as they appear in traces: mangled or demangled, with or without a return type,
// template arguments, and parameters. Template arguments and parameters are ignored, because a
// computation may take a communicator handle.
bool IsCommunicationKernel(std::string_view name);

// Returns true for a copy from one device to another ("Memcpy PtoP (Device -> Device)").
bool IsCopyBetweenDevices(std::string_view name);

}  // namespace pitwall::imports
