// Kernels for AVX2. The file is compiled with -mavx2 if the target is x86-64.
#define PITWALL_KERNELS avx2
#include "services/window/kernels/kernels.inc"
