import farspan as fs


class Mine(fs.Control):
    """A packet more in each round trip, half of the window for a mark or a loss."""

    needs = {"ecn"}
    cut = 0.5

    def start(self, path):
        self.mss = float(path.mss)
        self.cwnd = max(float(path.initial_cwnd), self.mss)
        self.cut_at = 0
        return self.cwnd, None

    def on_ack(self, ack):
        if ack.ecn_ce:
            return self.reduce(ack)
        if 2.0 * (ack.in_flight + ack.bytes_acked) >= self.cwnd:
            self.cwnd += self.mss * ack.bytes_acked / self.cwnd
        return self.cwnd, None

    def on_loss(self, loss):
        return self.reduce(loss)

    def on_timeout(self, timeout):
        self.cwnd, self.cut_at = self.mss, timeout.now_ps
        return self.cwnd, None

    def reduce(self, event):
        # News of packets that left before the last cut is no news.
        if event.sent_at_ps >= self.cut_at:
            self.cwnd = max(self.cwnd * (1.0 - self.cut), self.mss)
            self.cut_at = event.now_ps
        return self.cwnd, None


if __name__ == "__main__":
    fs.testing.check(Mine)
    changes = {"workload.flow_size": "4MiB", "topology.wan.rtt": "400us", "probes.rate_interval": "400us"}
    mine = fs.run("uno/incast-mixed", scheme="dctcp", control=Mine, set=changes, out="runs/mine")
    uno = fs.run("uno/incast-mixed", scheme="uno", set=changes, out="runs/uno")
    for result in (mine, uno):
        fct = result.summary["fct"]["all"]
        print(f"{result.scheme:5} mean {fct['mean_us']:6.0f} us, longest {fct['max_us']:6.0f} us")
    fs.plot.convergence([mine, uno]).savefig("convergence.png")
