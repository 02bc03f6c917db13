// Runs ns-3's RDMA fork on the config.txt that it is given, around `common.h` of SimAI's ns-3 front end: topology, flows and
// settings in, fct.txt and the number of packet-hops out. Built for peers.py; ../../docs/src/peers.md says how.
#include <cstdlib>
#include <unistd.h>

enum class GPUType { NONE, A100, A800, H100, H800, H20 };
#define ENABLE_QP 1
#include "common.h"

namespace {

uint64_t hops = 0;
uint32_t ended = 0;

void count_hop(Ptr<const Packet>) { hops += 1; }

// A line of fct.txt, whose last column nobody reads: this program does not know the time of a flow alone.
void end_flow(FILE* file, Ptr<RdmaQueuePair> flow) {
  const auto started = flow->startTime.GetTimeStep(), took = (Simulator::Now() - flow->startTime).GetTimeStep();
  std::fprintf(file, "%08x %08x %u %u %lu %ld %ld 0\n", flow->sip.Get(), flow->dip.Get(), flow->sport, flow->dport, flow->m_size,
               started, took);
  std::fflush(file);
  const auto host = n.Get(ip_to_node_id(flow->dip));
  host->GetObject<RdmaDriver>()->m_rdma->DeleteRxQp(flow->sip.Get(), flow->m_pg, flow->sport);
  ended += 1;
  // ACKs and pauses under way end, too.
  if (ended == flow_num) Simulator::Stop(MicroSeconds(200));
}

void on_sent(FILE*, Ptr<RdmaQueuePair>) {}
void no_message(void*) {}

void start_flow(uint32_t from, uint32_t to, uint32_t group, uint32_t port, uint64_t bytes) {
  const uint64_t rtt = global_t ? maxRtt : pairRtt[from][to];
  const uint64_t bdp = global_t ? maxBdp : pairBdp[n.Get(from)][n.Get(to)];
  RdmaClientHelper flow(group, serverAddress[from], serverAddress[to], portNumber[from][to]++, port, bytes, has_win ? bdp : 0,
                        rtt, no_message, nullptr, 0, from, to);
  flow.Install(n.Get(from)).Start(Time(0));
}

// The value of a key that `ReadConf` takes as an argument.
std::string topology_of(const char* config) {
  std::ifstream words(config);
  for (std::string word; words >> word;)
    if (word == "TOPOLOGY_FILE" && words >> word) return word;
  return "";
}

}  // namespace

int main(int arguments, char** words) {
  if (arguments != 2 || !ReadConf(topology_of(words[1]), words[1])) return 2;
  SetConfig();
  SetupNetwork(end_flow, on_sent);
  for (uint32_t node = 0; node < n.GetN(); node++)
    for (uint32_t port = 0; port < n.Get(node)->GetNDevices(); port++)
      if (auto device = DynamicCast<QbbNetDevice>(n.Get(node)->GetDevice(port)))
        device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&count_hop));
  for (uint32_t line = 0; line < flow_num; line++) {
    uint32_t from, to, group, port;
    uint64_t bytes;
    double start;
    flowf >> from >> to >> group >> port >> bytes >> start;
    Simulator::Schedule(Seconds(start), &start_flow, from, to, group, port, bytes);
  }
  Simulator::Stop(Seconds(simulator_stop_time));
  Simulator::Run();
  std::printf("flows %u of %lu, hops %lu\n", ended, static_cast<unsigned long>(flow_num), hops);
  std::fflush(stdout);
  // Its own end takes longer than the run.
  _exit(0);
}
