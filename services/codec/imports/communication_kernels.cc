#include "services/codec/imports/communication_kernels.h"

#include <string>

#include "services/base/strings.h"

namespace pitwall::imports {

namespace {

constexpr CommunicationPattern kPatterns[] = {
    {"nccl", "NCCL, RCCL", "ncclDevKernel_…, ncclKernel_… (NVIDIA/nccl, ROCm/rccl: src/device)"},
};

}  // namespace

std::span<const CommunicationPattern> CommunicationPatterns() { return kPatterns; }

bool IsCommunicationKernel(std::string_view name) {
  return name.find("ncclKernel") != std::string_view::npos ||
         name.find("ncclDevKernel") != std::string_view::npos || name.substr(0, 4) == "nccl";
}

bool IsCopyBetweenDevices(std::string_view name) { return StartsWith(name, "Memcpy PtoP"); }

}  // namespace pitwall::imports
