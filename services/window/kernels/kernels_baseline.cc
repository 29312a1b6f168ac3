#define PITWALL_KERNELS baseline
#include "services/window/kernels/kernels.inc"
