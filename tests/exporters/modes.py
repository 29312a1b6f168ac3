"""Modes of the NVIDIA DCGM exporter, each with its own label set: whole GPUs, GPUs that Kubernetes assigns to pods, MIG instances, and time slicing.
Whole-device faults must be detected in every mode, and a corrupt sample must not be reported.
"""
import dcgm
from dcgm import DcgmExporter
from scenarios import FAULT, Scenario

FIELDS = dcgm.DEFAULT + dcgm.CLOCKS + dcgm.ECC + dcgm.REMAP + dcgm.LINKS + dcgm.NVLINK
MODES = {
    "whole": {},
    "pods": {"pod": "trainer-0", "host_label": "hostname"},
    "mig": {"mig": (0, 1, 2, 3)},
    "mig-pods": {"mig": (0, 1, 2, 3), "pod": "trainer-0"},
    "time-slices": {"pods": ("trainer-0", "trainer-1", "trainer-2")},
}
DEVICE_FAULTS = {
    "xid": (["XidRestartNode"], {"DCGM_FI_DEV_XID_ERRORS": 79}),
    "ecc": (["EccUncorrected", "RowRemapUncorrectable", "RowRemapPending"],
            {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 1, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": 1, "DCGM_FI_DEV_ROW_REMAP_PENDING": 1}),
    "thermal": (["ThermalThrottle", "HwSlowdown"],
                {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS": dcgm.HW_THERMAL | dcgm.HW_SLOWDOWN, "DCGM_FI_DEV_GPU_TEMP": 91}),
    "links": (["PcieDowngrade", "NvlinkRecovery"], {"DCGM_FI_DEV_PCIE_LINK_WIDTH": 8, "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": 1}),
}
# With MIG, exporters do not export the utilization of the whole device.
NEED_UTILIZATION = ["PcieDowngrade"]


def nodes(mode, fields=FIELDS):
    return [DcgmExporter(name, fields=fields, **MODES[mode]) for name in ("node-a", "node-b")]


def device_faults():
    sets = []
    for mode in MODES:
        for fault, (alerts, readings) in DEVICE_FAULTS.items():
            exporters = nodes(mode)
            found = [alert for alert in alerts if not (alert in NEED_UTILIZATION and MODES[mode].get("mig"))]

            def change(_, exporters=exporters, readings=readings):
                for field, value in readings.items():
                    exporters[1].faults[2, field] = value
            sets.append(Scenario("mode-%s-%s" % (mode, fault), exporters, [(alert, {"node": "node-b", "gpu": "2"}) for alert in found], change,
                                 seconds=1500))
    return sets


def corrupt_samples():
    """Returns one scrape in which each field is beyond its physical range, but close enough not to be dropped as a sentinel."""
    wrong = {
        "DCGM_FI_DEV_GPU_UTIL": 3e6, "DCGM_FI_DEV_GPU_TEMP": 4000, "DCGM_FI_DEV_MEMORY_TEMP": 4000, "DCGM_FI_DEV_POWER_USAGE": 6e5,
        "DCGM_FI_DEV_SM_CLOCK": 1e6, "DCGM_FI_DEV_FB_USED": 2e9, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": -70, "DCGM_FI_PROF_DRAM_ACTIVE": 300,
        "DCGM_FI_DEV_XID_ERRORS": 4294967295, "DCGM_FI_DEV_ROW_REMAP_FAILURE": 255, "DCGM_FI_DEV_PCIE_LINK_WIDTH": 0,
        "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": -5,
    }
    exporters = nodes("whole")
    for gpu in range(4):  # so busy that one wrong value would raise the half-hour mean above 90%
        exporters[0].faults[gpu, "DCGM_FI_DEV_GPU_UTIL"] = 60
        exporters[0].faults[gpu, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"] = 0.02

    def change(time):
        corrupt = FAULT <= time < FAULT + 30
        for field, value in wrong.items():
            usual = {"DCGM_FI_DEV_GPU_UTIL": 60, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.02}.get(field)
            if corrupt:
                exporters[0].faults[1, field] = value
            elif usual is not None:
                exporters[0].faults[1, field] = usual
            else:
                exporters[0].faults.pop((1, field), None)
    return Scenario("corrupt-samples", exporters, change=change, seconds=3300)


def all_modes():
    return device_faults() + [corrupt_samples()]
