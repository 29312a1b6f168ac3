#include "services/codec/imports/traces/communication_kernels.h"

#include <string>

#include "services/base/text/strings.h"

namespace pitwall::imports {

namespace {

constexpr CommunicationPattern kPatterns[] = {
    // Libraries, identified by their prefix or namespace.
    {"nccl", "NCCL; RCCL, which keeps its names; NCCL EP",
     "NVIDIA/nccl and ROCm/rccl, src/device: ncclDevKernel_…, before 2.20 ncclKernel_…"},
    {"rccl", "RCCL", "ROCm/rccl: its own kernels"},
    {"msccl", "MSCCL, MSCCL++",
     "ROCm/rccl, src/include/msccl: mscclKernel_<op>_<type>_<protocol>; namespace mscclpp"},
    {"oneccl", "oneCCL", "traces of XPUs: oneccl_allreduce_pcie, oneccl_allgatherv_pcie"},
    {"hccl", "HCCL (Ascend)", "traces of NPUs: Hccl…"},
    {"hcom_", "HCCL (Ascend)", "traces of NPUs: hcom_allReduce__…"},
    {"deep_ep", "DeepEP", "deepseek-ai/DeepEP, csrc/kernels: deep_ep::intranode, ::internode_ll"},
    {"ep::internode", "DeepEP and its forks", "deepseek-ai/profile-data: dpsk::ep::internode"},
    {"ep::intranode", "DeepEP and its forks", "deepseek-ai/DeepEP, csrc/kernels/intranode.cu"},
    {"shmem", "NVSHMEM, rocSHMEM, Intel SHMEM", "nvshmemi_…_kernel; namespace rocshmem"},
    {"_on_stream_kernel", "NVSHMEM", "non_abi/device/coll/defines.cuh: barrier_on_stream_kernel"},
    {"userbuffers", "Transformer Engine",
     "common/comm_gemm_overlap/userbuffers.cu: userbuffers_fp16_sum_inplace_gpu_…"},
    {"ucc_reduce_", "UCC", "openucx/ucc, components/ec/cuda/kernel: UCC_REDUCE_CUDA_…"},
    {"ompi_op_", "Open MPI", "ompi/mca/op/cuda: ompi_op_cuda_2buff_…"},
    // Collectives, identified by name: PyTorch's symmetric memory (one_shot_all_reduce_kernel),
    // vLLM and SGLang (cross_device_reduce_1stage), TensorRT-LLM and FlashInfer
    // (allreduce_fusion_kernel_…).
    {"allreduce", "any", "FlashInfer, trtllm_allreduce_fusion: allreduce_fusion_kernel_…"},
    {"all_reduce", "any", "PyTorch, c10d/symm_mem/CUDASymmetricMemoryOps.cu"},
    {"allgather", "any", "oneCCL; TensorRT-LLM"},
    {"all_gather", "any", "PyTorch, c10d/symm_mem: multimem_all_gather_kernel"},
    {"reducescatter", "any", "TensorRT-LLM"},
    {"reduce_scatter", "any", "PyTorch, c10d/symm_mem: reduce_scatter_…"},
    {"alltoall", "any", "TensorRT-LLM: moe all-to-all"},
    {"all_to_all", "any", "PyTorch, c10d/symm_mem: all_to_all_vdev"},
    {"collective_permute", "XLA", "HLO: collective-permute"},
    {"cross_device_reduce", "vLLM, SGLang, AITER", "csrc/custom_all_reduce.cuh"},
};

// Returns a kernel's name in lower case, with - replaced by _, and without template arguments (in
// <>) and parameters (in ()).
std::string Plain(std::string_view name) {
  std::string plain;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' || c == '(') {
      ++depth;
    } else if (c == '>' || c == ')') {
      depth -= depth > 0;
    } else if (depth == 0) {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c;
    }
  }
  return plain;
}

}  // namespace

std::span<const CommunicationPattern> CommunicationPatterns() { return kPatterns; }

bool IsCommunicationKernel(std::string_view name) {
  const std::string plain = Plain(name);
  // PyTorch's compiler names a kernel after the operators that it fuses and reads from. These
  // kernels never communicate.
  if (StartsWith(plain, "triton_")) return false;
  for (const CommunicationPattern& pattern : kPatterns) {
    if (plain.find(pattern.text) != std::string::npos) return true;
  }
  return false;
}

bool IsCopyBetweenDevices(std::string_view name) {
  return StartsWith(name, "Memcpy PtoP") || StartsWith(name, "MemcpyP2P");
}

}  // namespace pitwall::imports
