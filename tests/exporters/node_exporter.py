"""Simulation of the Prometheus node_exporter: the response of a real exporter with advancing counters, and metric families for hardware that the
recorded machine does not have (InfiniBand, NFS, EDAC, and hwmon), based on the documentation. node_exporter_1.5.0.prom was recorded from the Debian
package and reduced to the families that rules may need.
"""
import os

from exposition import Family, families_of

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "node_exporter_1.5.0.prom")

# Counter growth per second on a training node.
RATES = {
    "node_cpu_seconds_total": {"idle": 0.55, "user": 0.38, "system": 0.05, "iowait": 0.01, "nice": 0, "irq": 0, "softirq": 0.005, "steal": 0.001},
    "node_disk_io_time_seconds_total": 0.04,
    "node_disk_read_bytes_total": 3.2e6,
    "node_disk_written_bytes_total": 1.1e6,
    "node_disk_reads_completed_total": 40,
    "node_disk_writes_completed_total": 25,
    "node_netstat_Tcp_OutSegs": 5200,
    "node_netstat_Tcp_InSegs": 5100,
    "node_netstat_Tcp_RetransSegs": 1.5,
    "node_network_receive_bytes_total": 4.4e7,
    "node_network_transmit_bytes_total": 4.1e7,
    "node_network_receive_packets_total": 31000,
    "node_network_transmit_packets_total": 30000,
    "node_network_receive_drop_total": 0.02,
    "node_pressure_cpu_waiting_seconds_total": 0.08,
    "node_pressure_io_waiting_seconds_total": 0.01,
    "node_pressure_io_stalled_seconds_total": 0.006,
    "node_pressure_memory_waiting_seconds_total": 0.001,
    "node_pressure_memory_stalled_seconds_total": 0.0005,
    "node_vmstat_pgfault": 21000,
    "node_vmstat_pgmajfault": 2,
    "node_context_switches_total": 45000,
    "node_infiniband_port_data_received_bytes_total": 9e9,
    "node_infiniband_port_data_transmitted_bytes_total": 9e9,
    "node_infiniband_port_transmit_wait_total": 90000,
    "node_nfs_rpcs_total": 350,
}
INFINIBAND = [
    ("node_infiniband_state_id", "gauge", "State of the InfiniBand port (0: no change, 1: down, 2: init, 3: armed, 4: active, 5: act defer)", 4),
    ("node_infiniband_physical_state_id", "gauge", "Physical state of the InfiniBand port", 5),
    ("node_infiniband_rate_bytes_per_second", "gauge", "Maximum signal transfer rate", 5e10),
    ("node_infiniband_port_data_received_bytes_total", "counter", "Number of data octets received on all links", 7.1e14),
    ("node_infiniband_port_data_transmitted_bytes_total", "counter", "Number of data octets transmitted on all links", 7.2e14),
    ("node_infiniband_link_downed_total", "counter", "Number of times the link failed to recover from an error state and went down", 1),
    ("node_infiniband_link_error_recovery_total", "counter", "Number of times the link successfully recovered from an error state", 0),
    ("node_infiniband_port_errors_received_total", "counter", "Number of packets containing an error that were received on this port", 0),
    ("node_infiniband_port_discards_transmitted_total", "counter",
     "Number of outbound packets discarded by the port because the port is down or congested", 0),
    ("node_infiniband_port_transmit_wait_total", "counter",
     "Number of ticks during which the port had data to transmit but no data was sent during the entire tick", 4.2e9),
]
NFS = [("node_nfs_rpcs_total", "counter", "Total number of RPCs performed.", 812345),
       ("node_nfs_rpc_retransmissions_total", "counter", "Number of RPC transmissions performed.", 17)]


class NodeExporter:
    """`rates` and `values` are the changes caused by a fault: {name} or {(name, text in the labels)} -> a number per second, or a value. None in
    `values` removes the series."""

    port = 9100

    def __init__(self, host, infiniband=("mlx5_0",), nfs=False, edac=True, hwmon=True):
        self.host, self.alive = host, True
        self.rates, self.values = {}, {}
        with open(RECORDED, encoding="utf-8") as recorded:
            self.families = families_of(recorded.read())
        for name, kind, help_text, value in INFINIBAND:
            for device in infiniband:
                self.add(name, kind, help_text, 'device="%s",port="1"' % device, value)
        for name, kind, help_text, value in NFS if nfs else ():
            self.add(name, kind, help_text, "", value)
        for controller in ("0", "1") if edac else ():
            self.add("node_edac_correctable_errors_total", "counter", "Total correctable memory errors.", 'controller="%s"' % controller, 0)
            self.add("node_edac_uncorrectable_errors_total", "counter", "Total uncorrectable memory errors.", 'controller="%s"' % controller, 0)
        for sensor in ("temp1", "temp2") if hwmon else ():
            where = 'chip="platform_coretemp_0",sensor="%s"' % sensor
            self.add("node_hwmon_temp_celsius", "gauge", "Hardware monitor for temperature (input)", where, 61)
            self.add("node_hwmon_temp_max_celsius", "gauge", "Hardware monitor for temperature (max)", where, 84)
            self.add("node_hwmon_temp_crit_celsius", "gauge", "Hardware monitor for temperature (crit)", where, 100)
        self._last = 0.0

    def add(self, name, kind, help_text, labels, value):
        self.families.setdefault(name, Family(name, kind, help_text)).samples[labels] = value

    @staticmethod
    def chosen(table, name, labels):
        """Returns the table entry for a series, or None."""
        for key, value in table.items():
            if key == name or (isinstance(key, tuple) and key[0] == name and key[1] in labels):
                return (value,)
        return None

    def text(self, time):
        since, self._last = time - self._last, time
        lines = []
        for name, family in self.families.items():
            shown = Family(name, family.kind, family.help)
            for labels in family.samples:
                rate = self.chosen(self.rates, name, labels)
                rate = rate[0] if rate else RATES.get(name, 0)
                if isinstance(rate, dict):
                    rate = next((each for mode, each in rate.items() if 'mode="%s"' % mode in labels), 0)
                family.samples[labels] += rate * since
                value = self.chosen(self.values, name, labels)
                value = value[0] if value else family.samples[labels]
                if callable(value):
                    value = value(time)
                if value is not None:
                    shown.samples[labels] = value
            if shown.samples:
                lines += shown.text()
        return "\n".join(lines) + "\n"
