"""Sets of scrapes: 15 healthy minutes, then one fault on one device, as described in the device's documentation.

A set defines its exporters, the changes caused by the fault, and the expected issues: alerts with their relevant labels. Any other issue is wrong, as
is any issue before the fault. XID codes come from NVIDIA's catalog (docs.nvidia.com/deploy/xid-errors).
"""
import dcgm
import node_exporter
from dcgm import DcgmExporter
from node_exporter import NodeExporter

FAULT = 900.0  # seconds after the first scrape


class Scenario:
    def __init__(self, name, exporters, expected=(), change=None, met="documented text", seconds=2100, interval=30, client=None, allowed=()):
        self.name, self.exporters, self.expected, self.change = name, exporters, list(expected), change
        self.met, self.seconds, self.interval, self.client, self.allowed = met, seconds, interval, client, list(allowed)


def two_nodes(fields=dcgm.DEFAULT, **options):
    return [DcgmExporter("node-a", fields=fields, **options), DcgmExporter("node-b", fields=fields, **options)]


# Expected alert for each code in the catalog, or None for codes that the catalog says to ignore.
CATALOGUE = {
    "XidRestartNode": (79,),
    "XidResetGpu": (46, 62, 64, 95, 109, 110, 119, 120, 136, 140),
    "XidNvlink": (74, 144, 149, 150),
    "XidWorkflow": (45, 48, 94),  # 94: a contained memory error kills the process, even though the program has no fault.
    "XidMechanical": (54,),
    "XidApplication": (8, 11, 13, 31, 32, 68, 69),
    "XidUnknown": (999,),
    None: (14, 37, 38, 43, 44, 63, 66, 92, 121, 137),
}


def xid_catalogue():
    """Builds a node per code: GPU 1 has the error, and GPU 0 on the same node is healthy."""
    exporters, expected, codes = [], [], {}
    for alert, of_alert in CATALOGUE.items():
        for code in of_alert:
            exporters.append(DcgmExporter("node-%d" % code, gpus=2))
            codes[exporters[-1]] = code
            if alert:
                expected.append((alert, {"node": "node-%d" % code, "gpu": "1", "code": str(code)}))

    def change(_):
        for exporter, code in codes.items():
            exporter.faults[1, "DCGM_FI_DEV_XID_ERRORS"] = code
    return Scenario("xid-catalogue", exporters, expected, change, seconds=1500)


def sets_of_xid():
    """Yields codes with the symptoms that accompany them."""
    def one(name, code, expected, fields, change_gpu):
        exporters = two_nodes(fields)

        def change(time):
            exporters[1].faults[3, "DCGM_FI_DEV_XID_ERRORS"] = code
            change_gpu(exporters[1].faults)
        return Scenario(name, exporters, [(alert, {"node": "node-b", "gpu": "3"}) for alert in expected], change)

    def lost(faults):
        """Simulates a GPU that fell off the bus: DCGM cannot read it, and only its last XID remains."""
        for name, _, _ in dcgm.DEFAULT:
            if name != "DCGM_FI_DEV_XID_ERRORS":
                faults[3, name] = None

    def double_bit(faults):
        faults[3, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"] = 1
        faults[3, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"] = 1
        faults[3, "DCGM_FI_DEV_ROW_REMAP_PENDING"] = 1

    def remap_failed(faults):
        faults[3, "DCGM_FI_DEV_ROW_REMAP_FAILURE"] = 1

    def link(faults):
        faults[3, "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"] = lambda time: max(0, round(400 * (time - FAULT)))
        faults[3, "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL"] = lambda time: max(0, round(time - FAULT))

    full = dcgm.DEFAULT + dcgm.ECC + dcgm.REMAP + dcgm.NVLINK
    everywhere = two_nodes()

    def program(_):
        for gpu in range(4):
            everywhere[0].faults[gpu, "DCGM_FI_DEV_XID_ERRORS"] = 31
    return [
        one("xid-79-off-the-bus", 79, ["XidRestartNode"], dcgm.DEFAULT, lost),
        one("xid-48-double-bit-error", 48, ["XidWorkflow", "EccUncorrected", "RowRemapUncorrectable", "RowRemapPending"], full, double_bit),
        one("xid-63-row-remapped", 63, ["EccUncorrected", "RowRemapUncorrectable", "RowRemapPending"], full, double_bit),
        one("xid-64-remap-failed", 64, ["XidResetGpu", "RowRemapFailed"], dcgm.DEFAULT, remap_failed),
        one("xid-74-nvlink", 74, ["XidNvlink", "NvlinkErrors", "NvlinkRecovery"], full, link),
        Scenario("xid-31-of-the-program", everywhere, [("XidApplication", {"node": "node-a", "gpu": str(gpu), "code": "31"}) for gpu in range(4)], program),
    ]


def xid_counts():
    """Uses the exporter's own XID count in a window. It shows a repeated error with the same code, which the last-code metric cannot."""
    exporters = two_nodes(dcgm.DEFAULT + dcgm.XID_COUNTS)

    def change(time):
        exporters[0].xid_counts[2] = {95: 1} if time < FAULT + 300 else {}
    return Scenario("xid-by-count", exporters, [("XidResetGpu", {"node": "node-a", "gpu": "2", "code": "95"})], change)


def xid_again():
    """Two occurrences of an application error on a single GPU, and five of a fatal error."""
    again, fatal = two_nodes(dcgm.DEFAULT + dcgm.XID_COUNTS), two_nodes(dcgm.DEFAULT + dcgm.XID_COUNTS)

    def comes(exporters, code, times):
        def change(time):
            number, since = divmod(time - FAULT, 600)  # within the five-minute window, then outside it
            exporters[0].xid_counts[1] = {code: 1} if number < times and since < 300 else {}
        return change
    return [Scenario("xid-31-again-on-one-gpu", again, [("XidRepeated", {"node": "node-a", "gpu": "1", "code": "31"})], comes(again, 31, 2),
                     allowed=["XidApplication"]),
            Scenario("xid-95-five-times", fatal, [("XidFatalRepeated", {"node": "node-a", "gpu": "1"}), ("XidResetGpu", {"gpu": "1", "code": "95"})],
                     comes(fatal, 95, 5), seconds=4200)]


def xid_of_before():
    exporters = two_nodes()
    exporters[0].faults[2, "DCGM_FI_DEV_XID_ERRORS"] = 79  # present before the job, so not caused by it
    return Scenario("xid-of-before", exporters)


def healthy():
    gone = two_nodes()

    def restarts(time):
        gone[0].alive = not FAULT <= time < FAULT + 400
    names = [DcgmExporter("node-a", fields=dcgm.EVERYTHING, host_label="hostname", pod="trainer-0"), DcgmExporter("node-b", fields=dcgm.EVERYTHING,
                                                                                                               host_label="hostname", pod="trainer-1")]
    unsupported = two_nodes()
    for exporter in unsupported:
        for gpu in range(4):
            for field in ("DCGM_FI_DEV_MEMORY_TEMP", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                          "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_ROW_REMAP_FAILURE"):
                exporter.faults[gpu, field] = dcgm.NOT_SUPPORTED
    nodes = [NodeExporter("node-%s" % name, infiniband=("mlx5_0", "mlx5_1"), nfs=True) for name in "abcd"]
    return [
        Scenario("healthy-default-counters", two_nodes()),
        Scenario("healthy-all-counters", two_nodes(dcgm.EVERYTHING)),
        Scenario("healthy-idle", two_nodes(dcgm.EVERYTHING, busy=False)),
        Scenario("healthy-pods-new-labels", names),
        Scenario("healthy-slices", two_nodes(dcgm.EVERYTHING, mig=(0, 1))),
        Scenario("healthy-not-supported", unsupported),
        Scenario("healthy-exporter-restarts", gone, change=restarts),
        Scenario("healthy-once-a-minute", two_nodes(dcgm.EVERYTHING), interval=60),
        Scenario("healthy-nodes", nodes, met="real exporter"),
        Scenario("healthy-nodes-and-gpus", nodes_and_gpus(), met="real exporter"),
    ]


def nodes_and_gpus():
    return [NodeExporter("node-a"), DcgmExporter("node-a"), NodeExporter("node-b"), DcgmExporter("node-b")]


def sets_of_gpus():
    sets = []

    def one(name, fields, expected, faults, **options):
        exporters = two_nodes(fields)

        def change(time):
            for field, value in faults.items():
                exporters[0].faults[2, field] = value
        sets.append(Scenario(name, exporters, [(alert, dict({"node": "node-a", "gpu": "2"}, **labels)) for alert, labels in expected], change,
                             **options))

    hot = dcgm.DEFAULT + dcgm.CLOCKS
    one("thermal-slowdown-hardware", hot, [("ThermalThrottle", {}), ("HwSlowdown", {}), ("ClockLow", {})],
        {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS": dcgm.HW_THERMAL | dcgm.HW_SLOWDOWN, "DCGM_FI_DEV_SM_CLOCK": 990, "DCGM_FI_DEV_GPU_TEMP": 91})
    one("thermal-slowdown-software", hot, [("ThermalThrottle", {})],
        {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS": dcgm.SW_THERMAL, "DCGM_FI_DEV_SM_CLOCK": 1755, "DCGM_FI_DEV_GPU_TEMP": 86})
    one("power-brake", hot, [("PowerBrake", {}), ("HwSlowdown", {}), ("ClockLow", {})],
        {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS": dcgm.POWER_BRAKE | dcgm.HW_SLOWDOWN, "DCGM_FI_DEV_SM_CLOCK": 990}, allowed=["PowerAnomaly"])
    one("power-cap-alone", hot, [("PowerCap", {})],
        {"DCGM_FI_DEV_CLOCKS_EVENT_REASONS": dcgm.POWER_CAP, "DCGM_FI_DEV_SM_CLOCK": 1755})
    one("clock-locked", dcgm.DEFAULT, [("ClockLow", {})], {"DCGM_FI_DEV_SM_CLOCK": 1200})
    one("power-anomaly", dcgm.DEFAULT, [("PowerAnomaly", {})], {"DCGM_FI_DEV_POWER_USAGE": 260})
    one("ecc-uncorrected", dcgm.DEFAULT + dcgm.ECC, [("EccUncorrected", {})], {"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 2})
    one("ecc-corrected-only", dcgm.DEFAULT + dcgm.ECC, [], {"DCGM_FI_DEV_ECC_SBE_VOL_TOTAL": lambda time: round((time - FAULT) / 60)})
    one("rows-remapped", dcgm.DEFAULT, [("RowRemapUncorrectable", {})], {"DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": 2})
    one("rows-remapped-corrected", dcgm.DEFAULT, [], {"DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS": 1})
    one("remap-failed", dcgm.DEFAULT, [("RowRemapFailed", {})], {"DCGM_FI_DEV_ROW_REMAP_FAILURE": 1})
    replays = {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER": lambda time: round(3 * max(0, time - FAULT))}
    one("pcie-replays-default-counters", dcgm.DEFAULT, [("PcieReplay", {})], replays)
    one("pcie-replays", dcgm.DEFAULT + dcgm.LINKS, [("PcieReplay", {})], replays)
    one("pcie-few-replays", dcgm.DEFAULT, [], {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER": lambda time: round(max(0, time - FAULT) / 20)})
    one("pcie-width", dcgm.DEFAULT + dcgm.LINKS, [("PcieDowngrade", {"link": "width"})], {"DCGM_FI_DEV_PCIE_LINK_WIDTH": 8})
    one("pcie-generation", dcgm.DEFAULT + dcgm.LINKS, [("PcieDowngrade", {"link": "generation"})], {"DCGM_FI_DEV_PCIE_LINK_GEN": 3})
    one("nvlink-recovery", dcgm.DEFAULT + dcgm.NVLINK, [("NvlinkRecovery", {"type": "recovery"})],
        {"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": 1})
    one("nvlink-few-errors", dcgm.DEFAULT + dcgm.NVLINK, [], {"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": lambda time: round(5 * (time - FAULT))})
    one("efficiency-low", dcgm.DEFAULT + dcgm.SM, [("LowEfficiency", {}), ("LowSmActivity", {})],
        {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": 0.002, "DCGM_FI_PROF_SM_ACTIVE": 0.08}, seconds=3300)
    return sets


def power_budget():
    exporters = two_nodes(dcgm.DEFAULT + dcgm.POWER)

    def change(time):
        for gpu in range(4):
            exporters[0].faults[gpu, "DCGM_FI_DEV_POWER_USAGE"] = 745 + gpu  # the limit is 700 W
    return Scenario("power-above-limits", exporters, [("NodePowerBudget", {"node": "node-a"})], change)


def stages_of_a_pipeline():
    """Simulates two pipeline stages. One draws a fifth less power because its work differs, not because of a fault."""
    exporters = two_nodes()
    for gpu in (2, 3):
        exporters[1].faults[gpu, "DCGM_FI_DEV_POWER_USAGE"] = lambda time: 500
    exporters[1].faults[1, "DCGM_FI_DEV_POWER_USAGE"] = lambda time: 503
    return Scenario("healthy-stages-of-a-pipeline", exporters)


def training(time):
    """Returns samples from the run's own client, which show that the ranks are training."""
    return ["train_phase_state{rank=\"0\",phase=\"forward\"} 1", "train_world_size{rank=\"0\"} 16"]


def idle_gpu():
    exporters = two_nodes(dcgm.DEFAULT)

    def change(time):
        for field in ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"):
            exporters[1].faults[3, field] = 0
        exporters[1].faults[3, "DCGM_FI_DEV_POWER_USAGE"] = 80
        exporters[1].faults[3, "DCGM_FI_DEV_SM_CLOCK"] = 345
    return Scenario("gpu-idle", exporters, [("GpuIdleAllocated", {"node": "node-b", "gpu": "3"})], change, client=training, seconds=2700)


def sets_of_nodes():
    sets = []

    def one(name, expected, change, exporters=None, **options):
        exporters = exporters or [NodeExporter("node-%s" % each, infiniband=("mlx5_0", "mlx5_1"), nfs=True) for each in "abcd"]
        sets.append(Scenario(name, exporters, expected, lambda time: change(exporters[0], time), met="real exporter", **options))

    def rates(**changed):
        return lambda exporter, _: exporter.rates.update(changed)

    one("memory-pressure", [("MemoryPressure", {"node": "node-a"})],
        rates(node_pressure_memory_stalled_seconds_total=0.3, node_pressure_memory_waiting_seconds_total=0.5))

    def fills(exporter, time):
        total = exporter.families["node_memory_MemTotal_bytes"].samples[""]
        used = 0.62 + 0.25 * (time - FAULT) / 1500
        exporter.values.update(node_memory_MemAvailable_bytes=total * (1 - used), node_memory_MemFree_bytes=total * (1 - used) / 2)
    one("memory-fills", [("OomForecast", {"node": "node-a"})], fills)

    def jumps(exporter, _):
        """Simulates a one-time increase in memory usage, such as for a cache or an evaluation."""
        total = exporter.families["node_memory_MemTotal_bytes"].samples[""]
        exporter.values.update(node_memory_MemAvailable_bytes=total * 0.25, node_memory_MemFree_bytes=total * 0.1)
    one("memory-jumps", [], jumps)

    stalls = dict(node_pressure_io_stalled_seconds_total=0.5, node_pressure_io_waiting_seconds_total=0.7)

    def waits(exporters):
        def change(exporter, time):
            exporter.rates.update(stalls)
            exporter.rates["node_disk_io_time_seconds_total", 'device="vda"'] = 0.99
            for gpu in range(4):
                exporters[1].faults[gpu, "DCGM_FI_DEV_GPU_UTIL"] = 35
        return change
    both = nodes_and_gpus()
    one("disk-saturated", [("IoPressure", {"node": "node-a"}), ("DiskSaturated", {"node": "node-a", "device": "vda"})], waits(both), both)
    # The same wait is harmless while the GPUs are working.
    one("disk-busy-gpus-busy", [], rates(**stalls), nodes_and_gpus())
    root = 'mountpoint="/"'

    def full(exporter, time):
        size = exporter.families["node_filesystem_size_bytes"]
        size = next(value for labels, value in size.samples.items() if root in labels)
        exporter.values["node_filesystem_avail_bytes", root] = max(0, size * (0.255 - 0.001 * (time - FAULT) / 4))
    one("disk-fills", [("DiskFull", {"node": "node-a", "mountpoint": "/"})], full)
    one("oom-kill", [("OomKill", {"node": "node-a"})], lambda exporter, _: exporter.values.update(node_vmstat_oom_kill=36))
    one("edac-uncorrected", [("HostMemoryErrors", {"node": "node-a"})],
        lambda exporter, _: exporter.values.update({("node_edac_uncorrectable_errors_total", 'controller="1"'): 1}))
    one("edac-corrected-only", [], lambda exporter, _: exporter.rates.update({("node_edac_correctable_errors_total", 'controller="1"'): 0.05}))
    one("nic-errors", [("NicErrors", {"node": "node-a", "device": "eth0", "direction": "receive"})],
        lambda exporter, _: exporter.rates.update({("node_network_receive_errs_total", 'device="eth0"'): 40}))
    one("nic-few-errors", [], lambda exporter, _: exporter.rates.update({("node_network_receive_errs_total", 'device="eth0"'): 0.5}))
    one("tcp-retransmits", [("Retransmit", {"node": "node-a"})], rates(node_netstat_Tcp_RetransSegs=260))
    one("tcp-few-retransmits", [], rates(node_netstat_Tcp_RetransSegs=20))
    port = 'device="mlx5_1"'

    def down(exporter, _):
        exporter.values["node_infiniband_state_id", port] = 1
        exporter.values["node_infiniband_physical_state_id", port] = 2
        exporter.rates["node_infiniband_port_data_received_bytes_total", port] = 0
        exporter.rates["node_infiniband_port_data_transmitted_bytes_total", port] = 0
    one("ib-port-down", [("IbPortDown", {"node": "node-a", "device": "mlx5_1", "port": "1"})], down)
    one("ib-port-slow", [("IbPortSlow", {"node": "node-a", "device": "mlx5_1"})],
        lambda exporter, _: exporter.values.update({("node_infiniband_rate_bytes_per_second", port): 1.25e10}))
    one("ib-port-flaps", [("IbPortFlapping", {"node": "node-a", "device": "mlx5_1"})],
        lambda exporter, time: exporter.values.update({("node_infiniband_link_downed_total", port): 1 + min(3, int((time - FAULT) / 120))}))
    one("ib-port-errors", [("IbPortErrors", {"node": "node-a", "device": "mlx5_1", "type": "receive"})],
        lambda exporter, _: exporter.rates.update({("node_infiniband_port_errors_received_total", port): 0.8}))
    one("ib-port-congested", [("IbPortCongested", {"node": "node-a", "device": "mlx5_1"})],
        lambda exporter, _: exporter.rates.update({("node_infiniband_port_transmit_wait_total", port): 3e7}))

    def silent(exporters):
        def change(_, __):
            for exporter in exporters:
                exporter.rates.update(node_infiniband_port_data_received_bytes_total=0, node_infiniband_port_data_transmitted_bytes_total=0)
        return change
    nodes = [NodeExporter("node-%s" % each) for each in "abcd"]
    one("ib-no-traffic", [("ZeroTraffic", {})], silent(nodes), nodes, client=training)

    def steps(time):
        return training(time) + ['train_step_duration_seconds{rank="0"} %s' % (0.8 if time < FAULT else 1.3)]
    one("nfs-retransmits", [("NfsRetransmit", {"node": "node-a"})], rates(node_nfs_rpc_retransmissions_total=4), client=steps)
    return sets


def all_scenarios():
    return (healthy() + sets_of_xid() + xid_again() + [xid_catalogue(), xid_counts(), xid_of_before(), power_budget(), stages_of_a_pipeline(), idle_gpu()] + sets_of_gpus() + sets_of_nodes())
