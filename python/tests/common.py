"""What the tests run: one scenario at two sizes."""

from __future__ import annotations

INCAST = "uno/incast-mixed"
SMALL = {"workload.flow_size": "64KiB"}
RECORDED = {"workload.flow_size": "16MiB", "probes.rate_interval": "2ms", "probes.queue_interval": "100us"}
