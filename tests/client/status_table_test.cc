#include "gpl/client/status_table.h"

#include <doctest/doctest.h>

#include <csignal>

#include "gpl/client/text_table.h"

using namespace gpl;
using namespace gpl::client;

namespace {

constexpr Instant now{1'000'000'000'000};
constexpr std::uint64_t gib = std::uint64_t{1} << 30;

Instant before(std::int64_t count) { return now + seconds(-count); }

wire::PeerSummary peer(const std::string& name) {
  wire::PeerSummary summary;
  summary.view.name = name;
  summary.view.reported_at = now;
  summary.state = "up";
  summary.up_at = before(3 * 3600);
  summary.cpus_lent = 32;
  summary.memory_lent_bytes = 125 * gib;
  return summary;
}

Accelerator card(AcceleratorKind kind, int index, bool usable = true) {
  Accelerator device;
  device.kind = kind;
  device.index = index;
  device.id = std::string(name_of(kind)) + ":" + std::to_string(index);
  device.usable = usable;
  return device;
}

DeviceHold hold(int index, const std::string& holder) {
  DeviceHold held;
  held.index = index;
  held.holder = holder;
  return held;
}

wire::JobSummary job(std::uint64_t id, const std::string& state) {
  wire::JobSummary summary;
  summary.id = JobId{id};
  summary.state = state;
  summary.submitter_name = "ana";
  summary.command = {"python", "train.py", "--lr", "0.1"};
  summary.submitted_at = before(40);
  return summary;
}

wire::JobSummary running(std::uint64_t id) {
  wire::JobSummary summary = job(id, "running");
  summary.started_at = before(180);
  summary.where = {"lab2 cuda:1"};
  return summary;
}

std::string only_job(const wire::JobSummary& summary) {
  const std::string text = jobs_text({summary}, {now, std::nullopt});
  return text.substr(text.find('\n') + 1);
}

std::string only_peer(const wire::PeerSummary& summary) {
  const std::string text = peers_text({summary}, {now, std::nullopt});
  return text.substr(text.find('\n') + 1);
}

}  // namespace

TEST_CASE("a lone machine is said to be unprotected") {
  wire::ClusterStatus status;
  status.cluster = "7f3a";
  status.leader = "lab1";
  status.voters = 1;
  status.peers = {peer("lab1")};
  CHECK(cluster_line(status) ==
        "cluster 7f3a · leader lab1 · this machine alone: not protected against its loss\n");
}

TEST_CASE("of several machines the line tells how many may be lost") {
  wire::ClusterStatus status;
  status.cluster = "7f3a";
  status.leader = "lab1";
  status.voters = 3;
  status.can_lose = 1;
  status.peers = {peer("lab1"), peer("lab2"), peer("mac"), peer("old")};
  CHECK(cluster_line(status) ==
        "cluster 7f3a · leader lab1 · 3 voters of 4 peers · protected against the loss of 1 "
        "machine\n");
  status.can_lose = 0;
  status.voters = 1;
  CHECK(cluster_line(status) ==
        "cluster 7f3a · leader lab1 · 1 voter of 4 peers · unprotected: no machine may be lost\n");
}

TEST_CASE("without a leader that is what the line says") {
  wire::ClusterStatus status;
  status.cluster = "7f3a";
  status.peers = {peer("lab1")};
  CHECK(cluster_line(status).find("no leader: nothing new starts") != std::string::npos);
}

TEST_CASE("a peer shows what is held of what it lends") {
  wire::PeerSummary lab1 = peer("lab1");
  lab1.view.cpus_held = 8;
  lab1.view.memory_held_bytes = 31 * gib;
  lab1.view.accelerators = {card(AcceleratorKind::cuda, 0), card(AcceleratorKind::cuda, 1),
                            card(AcceleratorKind::cuda, 2, false)};
  lab1.view.holds = {hold(0, "job 12"), hold(1, "job 13")};
  CHECK(only_peer(lab1) == "lab1  up 3h  8/32  31/125 GiB  cuda 2/3 held, 1 unusable\n");
}

TEST_CASE("a card that several jobs share is held once, and said to be shared") {
  wire::PeerSummary lab1 = peer("lab1");
  lab1.view.accelerators = {card(AcceleratorKind::cuda, 0)};
  lab1.view.holds = {hold(0, "job 12"), hold(0, "job 13")};
  for (DeviceHold& held : lab1.view.holds) held.shared_memory_bytes = gib;
  CHECK(only_peer(lab1).ends_with("  cuda 1/1 held, 1 shared\n"));
}

TEST_CASE("a card that is cut into slices counts as these") {
  wire::PeerSummary lab1 = peer("lab1");
  lab1.view.accelerators = {card(AcceleratorKind::cuda, 0)};
  lab1.view.accelerators[0].partitions = {{"MIG-a", "3g.40gb", std::nullopt, std::nullopt},
                                          {"MIG-b", "3g.40gb", std::nullopt, std::nullopt}};
  lab1.view.holds = {hold(0, "job 12")};
  lab1.view.holds[0].slice = "MIG-b";
  CHECK(only_peer(lab1).ends_with("  cuda 1/2 held\n"));
}

TEST_CASE("of a peer that does not answer only what it had is told") {
  wire::PeerSummary old = peer("old");
  old.state = "unreachable";
  old.view.unreachable_since = before(3600);
  old.view.accelerators = {card(AcceleratorKind::cuda, 0)};
  CHECK(only_peer(old) == "old   unreachable 1h  -     -       cuda 1\n");
}

TEST_CASE("a peer that takes nothing now says why") {
  wire::PeerSummary lab1 = peer("lab1");
  lab1.view.closed = "lends from 20:00 to 08:00";
  CHECK(only_peer(lab1).find("up 3h, lends from 20:00 to 08:00 ") != std::string::npos);
  lab1.state = "draining";
  lab1.view.closed = "draining";
  CHECK(only_peer(lab1).starts_with("lab1  draining  "));
}

TEST_CASE("little memory is told to a tenth, unknown memory not at all") {
  wire::PeerSummary small = peer("small");
  small.memory_lent_bytes = gib * 19 / 10;
  small.view.memory_held_bytes = gib / 2;
  CHECK(only_peer(small).find(" 0.5/1.9 GiB ") != std::string::npos);
  small.memory_lent_bytes = 0;
  CHECK(only_peer(small).find("0/32  -       -\n") != std::string::npos);
}

TEST_CASE("a running job shows where it is and since when") {
  CHECK(only_job(running(12)) == "12   running  3m   lab2 cuda:1  ana  python train.py --lr 0.1\n");
}

TEST_CASE("a job that waits shows its place and what it waits for") {
  wire::JobSummary waiting = job(13, "queued");
  waiting.position = 2;
  waiting.why = "waits for 1 cuda";
  CHECK(only_job(waiting) ==
        "13   queued (2nd)  40s  -      ana  python train.py --lr 0.1  waits for 1 cuda\n");
}

TEST_CASE("a held job shows how to release it") {
  wire::JobSummary held = job(13, "held");
  held.why = "held";
  CHECK(only_job(held).ends_with("  until gpl release 13\n"));
}

TEST_CASE("a job whose client is gone says so while it runs") {
  wire::JobSummary left = running(12);
  left.client_gone = true;
  CHECK(only_job(left).ends_with("  client is gone: gpl attach 12\n"));
  left.state = "ended";
  left.outcome = Exited{0};
  left.ended_at = before(60);
  CHECK(only_job(left).ends_with("python train.py --lr 0.1\n"));
}

TEST_CASE("what did not start or is lost tells the reason") {
  wire::JobSummary lost = job(11, "ended");
  lost.ended_at = before(60);
  lost.outcome = Lost{"its keeper died"};
  CHECK(only_job(lost) ==
        "11   lost   1m   -      ana  python train.py --lr 0.1  lost: its keeper "
        "died\n");
}

TEST_CASE("a job on several peers shows these, and how many there are more") {
  wire::JobSummary many = running(14);
  many.tasks = 100;
  many.succeeded = 35;
  many.failed = 2;
  many.where = {"lab1 cuda:0", "lab1 cuda:1", "mac"};
  CHECK(only_job(many).find("running 37/100 (2 failed)  3m   lab1, mac  ") != std::string::npos);
  many.where = {"a", "b", "c", "d", "e"};
  CHECK(only_job(many).find(" a, b, c +2 ") != std::string::npos);
}

TEST_CASE("a name stands for the command, and nothing of it can drive a terminal") {
  wire::JobSummary named = running(12);
  named.command = {"sh", "-c", "a\nb\x1b[31m"};
  CHECK(only_job(named).ends_with("  sh -c 'a?b?[31m'\n"));
  named.name = "sweep";
  CHECK(only_job(named).ends_with("  sweep\n"));
}

TEST_CASE("on a terminal a command is cut, an id or a reason never") {
  wire::JobSummary waiting = job(1'234'567, "queued");
  waiting.command.assign(50, "word");
  waiting.why = "waits for 2 cuda, 8 cpus, 125.0 GiB, torch on lab2";
  for (std::size_t width = 20; width < 200; ++width) {
    const std::string text = jobs_text({waiting}, {now, width});
    CHECK(text.find("\n1234567 ") != std::string::npos);
    CHECK(text.find(waiting.why) != std::string::npos);
  }
  const std::string text = jobs_text({waiting}, {now, 80});
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    CHECK(shown_width(text.substr(begin, end - begin)) <= 80);
}

TEST_CASE("an empty cluster says that there are no jobs, a long one how many are not shown") {
  wire::ClusterStatus status;
  status.cluster = "7f3a";
  status.leader = "lab1";
  status.peers = {peer("lab1")};
  CHECK(cluster_text(status, {now, 80}).ends_with("\nno jobs\n"));
  status.active = {running(12)};
  status.more_active = 1300;
  CHECK(cluster_text(status, {now, 80})
            .ends_with("\nand 1300 more that have not ended: gpl status --all --everyone\n"));
}

TEST_CASE("peers are shown with their part in the consensus, where they are reached, and labels") {
  wire::PeerSummary lab1 = peer("lab1");
  lab1.part = "leader";
  lab1.address = "10.0.0.7:7457";
  lab1.view.labels = {{"rack", "7"}, {"gpu", "big"}};
  wire::PeerSummary lab2 = peer("lab2");
  lab2.part = "learner";
  lab2.state = "unreachable";
  lab2.view.unreachable_since = before(120);
  lab2.view.accelerators = {card(AcceleratorKind::cuda, 0)};
  CHECK(links_text({lab1, lab2}, {now, std::nullopt}) ==
        "PEER  STATE           PART     ADDRESS        CPUS  MEMORY     DEVICES  LABELS\n"
        "lab1  up 3h           leader   10.0.0.7:7457  0/32  0/125 GiB  -        rack=7, gpu=big\n"
        "lab2  unreachable 2m  learner  not linked     -     -          cuda 1   -\n");
  CHECK(links_text({}, {now, std::nullopt}).empty());
}

TEST_CASE("what another machine says of itself does not steer the terminal") {
  wire::PeerSummary odd = peer("lab\x1b[1m");
  odd.part = odd.address = odd.state = "\x1b[2J";
  odd.view.labels = {{"\x1b[3m", "\a"}};
  const std::string text = links_text({odd}, {now, std::nullopt});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\a') == std::string::npos);
}

TEST_CASE("a second peer that does not keep up is said to protect from nothing") {
  wire::ClusterStatus status;
  status.cluster = "7f3a";
  status.leader = "lab1";
  status.voters = 1;
  status.peers = {peer("lab1"), peer("lab2")};
  status.unprotected = true;
  CHECK(cluster_line(status) ==
        "cluster 7f3a · leader lab1 · 1 voter of 2 peers · unprotected: the second peer does not "
        "keep up, or is away\n");
}

TEST_CASE("a single job is told whole") {
  wire::JobSummary cancelled = running(12);
  cancelled.state = "ended";
  cancelled.ended_at = before(60);
  cancelled.outcome = Cancelled{SIGKILL};
  cancelled.kept_files = 2;
  cancelled.kept_bytes = 5'100'000;
  cancelled.description.emplace();
  cancelled.description->retries = 3;
  cancelled.description->on_loss = OnLoss::retry;
  cancelled.description->spec.time_limit = seconds(5400);
  cancelled.description->requirement.cpus = 4;
  cancelled.description->after = {{JobId{7}, After::ok}};
  const std::string text = job_text(cancelled, now);
  CHECK(
      text.starts_with("job 12: cancelled (killed by signal 9 (SIGKILL): it did not end within "
                       "10 s of SIGTERM)\n"));
  for (const char* line :
       {"  command    python train.py --lr 0.1\n", "  by         ana\n",
        "  where      lab2 cuda:1\n", "  needs      4 cpus\n", "  time limit  1h30m\n",
        "  retries    3\n", "  on loss    start again elsewhere, after 3m\n",
        "  after      job 7 ended well\n", "  kept       5.1 MB, 2 files kept: gpl get 12\n"})
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  CHECK(text.find("\n  tasks") == std::string::npos);
}

TEST_CASE("a single job that waits says for what") {
  wire::JobSummary waiting = job(13, "queued");
  waiting.position = 2;
  waiting.why = "waits for 1 cuda";
  CHECK(job_text(waiting, now).starts_with("job 13: queued (2nd) for 40s: waits for 1 cuda\n"));
}
