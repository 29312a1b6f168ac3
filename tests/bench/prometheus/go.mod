// Only the version of Prometheus is pinned here; everything else follows from it (see ../vs_prometheus.sh).
module pitwall/tests/bench/prometheus

go 1.25.8

require github.com/prometheus/prometheus v0.314.0
