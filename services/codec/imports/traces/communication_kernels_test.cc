#include "services/codec/imports/traces/communication_kernels.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pitwall::imports {
namespace {

// Names as they appear in traces and kernel summaries.
constexpr std::string_view kCommunication[] = {
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
    "ncclAllReduceRingLLKernel_sum_f32(ncclColl)",
    "void ncclKernel<1, 2>(ncclDevComm*)",
    "ncclDevKernel_Generic_1(ncclDevComm*, channelMasks, ncclWork*)",
    "void nccl_ep::internode_ll::dispatch<(bool)0, (int)7168>(void*)",
    "rcclGenericKernel(int)",
    "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
    "void mscclpp::(anonymous namespace)::kernel<float>(float*)",
    "void oneccl_allreduce_pcie<sycl::half>(void*)",
    "oneccl_allgatherv_pcie",
    "void deep_ep::intranode::cached_notify_combine<8>(void**, int*)",
    "void deep_ep::internode_ll::combine<true, 7168, 9, 3>(void*)",
    "void dpsk::ep::internode::dispatch_ll<3>(void*)",
    "nvshmemi_init_array_kernel(int)",
    "nvshmemi_int_wait_until_on_stream_kernel(int volatile*, int, int)",
    "barrier_on_stream_kernel(int, int, int, long*, long*)",
    "void rocshmem::rocshmem_alltoall_kernel<float>()",
    "userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int, int)",
    "kuserbuffers_pushsend(int, int*)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
    "void sglang::cross_device_reduce_2stage<half, 2>(sglang::RankData*)",
    "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8, false>(int)",
    "void c10d::symmetric_memory::(anonymous namespace)::one_shot_all_reduce_kernel<float, "
    "16>(float**)",
    "void <unnamed>::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<half>(int)",
    "void tensorrt_llm::kernels::allGatherKernel<float>()",
    "reduceScatter_kernel(float*)",
    "multimem_all_gather_kernel(char*)",
    "void reduce_scatter_kernel<float>(float*)",
    "all_to_all_vdev_kernel(int)",
    "allToAllKernel(float*)",
    "void UCC_REDUCE_CUDA_DEFAULT_SUM<float, float, false, 1>(ucc_eee_task_reduce, unsigned short)",
    "ompi_op_cuda_2buff_sum_float_kernel(float const*, float*, int)",
    "hcom_allReduce__428_0_1",
    "all-reduce.1",
    "collective-permute-start.3",
    "HcclAllReduce",
};

constexpr std::string_view kComputation[] = {
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float)",
    "ampere_sgemm_128x64_nn",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
    "void at::native::reduce_kernel<512, 1, "
    "at::native::ReduceOp<float>>(at::native::ReduceOp<float>)",
    "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64>>(Flash_fwd_params)",
    "void cub::DeviceReduceSingleTileKernel<float>()",
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 3, "
    "64>(float*)",
    "__amd_rocclr_copyBuffer.kd",
    "__amd_rocclr_fillBufferAligned.kd",
    // Compilers name a kernel after the operators that it fuses and those around it.
    "triton_poi_fused_add_all_reduce_wait_tensor_0",
    "triton_red_fused__to_copy_all_gather_into_tensor_mul_3",
    // These names have a communicator among the parameters, or a functor in a template argument.
    "void compute<ncclDataType_t>(ncclDevComm*, float*)",
    "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN",
    "void deep_gemm::sm100_fp8_fp4_gemm_1d1d_impl<(cute::UMMA::Major)0>(int)",
    "fused_moe_kernel",
    "void moe_dispatch_tokens<float>(float*)",
    "",
    "<",
};

TEST(CommunicationKernels, RecognizesLibraries) {
  for (const std::string_view name : kCommunication)
    EXPECT_TRUE(IsCommunicationKernel(name)) << name;
  for (const std::string_view name : kComputation)
    EXPECT_FALSE(IsCommunicationKernel(name)) << name;
}

TEST(CommunicationKernels, TableIsUsable) {
  std::set<std::string_view> seen;
  for (const CommunicationPattern& pattern : CommunicationPatterns()) {
    EXPECT_TRUE(seen.insert(pattern.text).second) << pattern.text;
    EXPECT_FALSE(pattern.library.empty() || pattern.source.empty()) << pattern.text;
    for (const char c : pattern.text) EXPECT_FALSE(c >= 'A' && c <= 'Z') << pattern.text;
    // Every pattern must match at least one name.
    EXPECT_TRUE(IsCommunicationKernel(pattern.text));
    bool used = false;
    for (const std::string_view name : kCommunication) {
      std::string lower(name);
      for (char& c : lower)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '-' ? '_' : c;
      used |= lower.find(pattern.text) != std::string::npos;
    }
    EXPECT_TRUE(used) << pattern.text;
  }
}

TEST(CommunicationKernels, RecognizesCopiesBetweenDevices) {
  EXPECT_TRUE(IsCopyBetweenDevices("Memcpy PtoP (Device -> Device)"));
  EXPECT_FALSE(IsCopyBetweenDevices("Memcpy DtoD (Device -> Device)"));
  EXPECT_FALSE(IsCopyBetweenDevices("Memcpy HtoD (Pinned -> Device)"));
}

}  // namespace
}  // namespace pitwall::imports
