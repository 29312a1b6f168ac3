"""Simulation of the NVIDIA DCGM exporter as documented: the fields of etc/default-counters.csv with their types and help texts, and one series per
GPU with the labels gpu, UUID, pci_bus_id, device, modelName, and Hostname (hostname since 4.8.2). Series have pod labels if Kubernetes assigned the
GPU to a pod. A value that a GPU does not support is a sentinel close to 2^63. No NVIDIA hardware is involved.
"""
import math

from exposition import Family

NOT_SUPPORTED = "9223372036854775794"

# Active lines of the default counters file.
DEFAULT = [
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz)."),
    ("DCGM_FI_DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C)."),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    ("DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %)."),
    ("DCGM_FI_DEV_ENC_UTIL", "gauge", "Encoder utilization (in %)."),
    ("DCGM_FI_DEV_DEC_UTIL", "gauge", "Decoder utilization (in %)."),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    ("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "counter", "Total number of NVLink bandwidth counters for all lanes."),
    ("DCGM_FI_DEV_VGPU_LICENSE_STATUS", "gauge", "vGPU License status"),
    ("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for uncorrectable errors"),
    ("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for correctable errors"),
    ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed"),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active."),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active sending or receiving data."),
    ("DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", "The rate of data transmitted over the PCIe bus in bytes per second."),
    ("DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", "The rate of data received over the PCIe bus in bytes per second."),
]
# Commented-out lines of that file, and fields that sites may add according to the documentation.
ECC = [("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", "Total number of single-bit volatile ECC errors."),
       ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", "Total number of double-bit volatile ECC errors.")]
NVLINK = [("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", "counter", "Total number of NVLink flow-control CRC errors."),
          ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", "counter", "Total number of NVLink data CRC errors."),
          ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", "counter", "Total number of NVLink retries."),
          ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", "counter", "Total number of NVLink recovery errors.")]
CLOCKS = [("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gauge", "Current clock event reasons (bitmask).")]
LINKS = [("DCGM_FI_DEV_PCIE_LINK_GEN", "gauge", "PCIe current link generation."),
         ("DCGM_FI_DEV_PCIE_MAX_LINK_GEN", "gauge", "PCIe max link generation."),
         ("DCGM_FI_DEV_PCIE_LINK_WIDTH", "gauge", "PCIe current link width."),
         ("DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH", "gauge", "PCIe max link width.")]
POWER = [("DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", "Current power limit (in W).")]
REMAP = [("DCGM_FI_DEV_ROW_REMAP_PENDING", "gauge", "Whether a row remapping is pending.")]
SM = [("DCGM_FI_PROF_SM_ACTIVE", "gauge", "The ratio of cycles an SM has at least 1 warp assigned.")]
XID_COUNTS = [("DCGM_EXP_XID_ERRORS_COUNT", "gauge", "Count of XID Errors within user-specified time window.")]
EVERYTHING = DEFAULT + ECC + NVLINK + CLOCKS + LINKS + POWER + REMAP + SM

# Bits of the throttle-reason mask, as in NVML.
IDLE, POWER_CAP, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x1, 0x4, 0x8, 0x20, 0x40, 0x80


class DcgmExporter:
    """The GPUs of a node, busy unless `busy` is False. `faults` maps (gpu, field) to a value or to a function of the seconds since the start; None
    removes the series, as DCGM does for unreadable fields. The GPUs in `mig` are split into instances and have no whole-GPU series; `pods` names the
    pods that share each GPU by time slicing."""

    port = 9400

    def __init__(self, host, gpus=4, fields=DEFAULT, model="NVIDIA H100 80GB HBM3", busy=True, host_label="Hostname", pod=None, mig=(),
                 pods=()):
        self.host, self.gpus, self.fields, self.model, self.busy = host, gpus, fields, model, busy
        self.host_label, self.pod, self.mig, self.pods = host_label, pod, mig, pods
        self.faults = {}
        self.xid_counts = {}  # gpu -> {code: count in the window}
        self.alive = True
        self._energy = [3.1e12 + 1e11 * gpu for gpu in range(gpus)]
        self._last = 0.0
        self._labels = [self._labels_of(gpu) for gpu in range(gpus)]

    def _labels_of(self, gpu):
        text = ('gpu="%d",UUID="GPU-%08x-52d1-4c0e-9a2b-%012x",pci_bus_id="00000000:%02X:00.0",device="nvidia%d",modelName="%s"'
                % (gpu, hash_of(self.host) + gpu, gpu, 0x18 + 0x11 * gpu, gpu, self.model))
        instances = [',GPU_I_PROFILE="3g.40gb",GPU_I_ID="%d"' % instance for instance in (1, 2)] if gpu in self.mig else [""]
        host = ',%s="%s",DCGM_FI_DRIVER_VERSION="550.90.07"' % (self.host_label, self.host)
        users = [""]
        if self.pod:
            users = [',container="trainer",namespace="research",pod="%s"' % self.pod]
        if self.pods:
            users = [',container="trainer",namespace="research",pod="%s",vgpu="%d"' % (pod, place) for place, pod in enumerate(self.pods)]
        return [text + instance + host + user for instance in instances for user in users]

    def readings(self, gpu, time):
        """Returns {field: value}. Absent fields are 0."""
        wave = math.sin(time / 37.0 + gpu)  # each GPU has its own phase, so that all GPUs differ
        busy = self.busy
        readings = {
            "DCGM_FI_DEV_SM_CLOCK": 1965 + 15 * round(wave) if busy else 345,
            "DCGM_FI_DEV_MEM_CLOCK": 2619,
            "DCGM_FI_DEV_MEMORY_TEMP": 60 + gpu % 3 + round(2 * wave) if busy else 38,
            "DCGM_FI_DEV_GPU_TEMP": 54 + gpu % 4 + round(3 * wave) if busy else 33,
            "DCGM_FI_DEV_POWER_USAGE": 610 + 5 * (gpu % 3) + 25 * wave if busy else 72.5 + wave,
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": round(self._energy[gpu]),
            "DCGM_FI_DEV_PCIE_REPLAY_COUNTER": gpu % 2,
            "DCGM_FI_DEV_GPU_UTIL": min(100, 97 + round(3 * wave)) if busy else 0,
            "DCGM_FI_DEV_MEM_COPY_UTIL": 52 + round(6 * wave) if busy else 0,
            "DCGM_FI_DEV_XID_ERRORS": 0,
            "DCGM_FI_DEV_FB_FREE": 9800 if busy else 81007,
            "DCGM_FI_DEV_FB_USED": 71270 if busy else 63,
            "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL": round(9e4 * time) if busy else 0,
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE": 0.96 + 0.02 * wave if busy else 0,
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.38 + 0.05 * wave if busy else 0,
            "DCGM_FI_PROF_DRAM_ACTIVE": 0.45 + 0.05 * wave if busy else 0,
            "DCGM_FI_PROF_SM_ACTIVE": 0.82 + 0.03 * wave if busy else 0,
            "DCGM_FI_PROF_PCIE_TX_BYTES": 4.2e8 if busy else 12000,
            "DCGM_FI_PROF_PCIE_RX_BYTES": 1.1e9 if busy else 9000,
            # A GPU at full load is at its power limit part of the time.
            "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": (POWER_CAP if wave > 0.3 else 0) if busy else IDLE,
            "DCGM_FI_DEV_PCIE_LINK_GEN": 5 if busy else 1,
            "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": 5,
            "DCGM_FI_DEV_PCIE_LINK_WIDTH": 16,
            "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": 16,
            "DCGM_FI_DEV_POWER_MGMT_LIMIT": 700,
            # Healthy memory has occasional corrected errors.
            "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": (3 + int(time / 400) if gpu == 1 else 0),
        }
        for (faulty, field), value in self.faults.items():
            if faulty == gpu:
                readings[field] = value(time) if callable(value) else value
        return readings

    def text(self, time):
        gpus = [self.readings(gpu, time) for gpu in range(self.gpus)]
        for gpu, readings in enumerate(gpus):
            self._energy[gpu] += (readings["DCGM_FI_DEV_POWER_USAGE"] or 0) * 1000 * (time - self._last)
        self._last = time
        lines = []
        for name, kind, help_text in self.fields:
            family = Family(name, kind, help_text)
            for gpu in range(self.gpus):
                for labels in self._labels[gpu]:
                    if name == "DCGM_EXP_XID_ERRORS_COUNT":
                        counts = self.xid_counts.get(gpu, {})
                        for code, count in counts.items():
                            family.samples['%s,window_size_in_ms="300000",xid="%d"' % (labels, code)] = count
                        if not counts:  # series without a code
                            family.samples['%s,window_size_in_ms="300000"' % labels] = 0
                        continue
                    value = gpus[gpu].get(name, 0)
                    if value is not None:
                        family.samples[labels] = value
            if family.samples:
                lines += family.text()
        return "\n".join(lines) + "\n"


def hash_of(text):
    return sum(ord(letter) * 31 ** place for place, letter in enumerate(text)) & 0xFFFFFF0
