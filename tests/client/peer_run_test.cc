#include "gpl/client/peer_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "fake_peer.h"
#include "gpl/artifact/chunk.h"
#include "gpl/artifact/manifest.h"

using gpl::AttemptId;
using gpl::Code;
using gpl::JobId;
using gpl::Outcome;
using gpl::TaskId;
using gpl::client::Attachment;
using gpl::client::PeerReport;
using gpl::client::Submission;
using gpl::client::Voice;
using gpl::wire::OutputStream;
namespace wire = gpl::wire;

namespace {

const Voice silent(true);

/// A peer that keeps every tree, and answers the rest as told.
class TreePeer {
 public:
  explicit TreePeer(FakePeer::Answering rest) : rest_(std::move(rest)) {}

  void operator()(FakePeer& peer, const wire::ClientMessage& message) {
    if (const auto* chunks = std::get_if<wire::AskChunks>(&message.body)) {
      return peer.say(message.question, wire::ChunksMissing{chunks->chunks});
    }
    if (std::holds_alternative<wire::PutChunk>(message.body)) return;
    if (const auto* piece = std::get_if<wire::PutManifest>(&message.body)) {
      manifest_ += piece->piece;
      return;
    }
    if (std::holds_alternative<wire::CommitTree>(message.body)) {
      const gpl::artifact::Digest id = gpl::artifact::digest_of(manifest_);
      manifest_.clear();
      return peer.say(message.question, wire::TreeKept{std::string(id.bytes())});
    }
    rest_(peer, message);
  }

 private:
  FakePeer::Answering rest_;
  std::string manifest_;
};

void write(FakePeer& peer, std::uint32_t question, OutputStream stream, std::uint64_t offset,
           std::string data) {
  peer.say(question, wire::Output{{TaskId{0}, AttemptId{5}, stream, offset}, std::move(data), 0});
}

void end(FakePeer& peer, std::uint32_t question, const Outcome& outcome) {
  peer.say(question, wire::TaskEnded{JobId{12}, TaskId{0}, AttemptId{5}, outcome, "lab2"});
  peer.say(question, wire::JobEnded{JobId{12}, {}, outcome});
}

/// One `gpl run` from a folder with one file in it, its output in files beside.
struct Scene {
  TemporaryFolder folder;
  gpl::posix::Fd out{::open((folder / "out").c_str(), O_RDWR | O_CREAT, 0600)};
  gpl::posix::Fd err{::open((folder / "err").c_str(), O_RDWR | O_CREAT, 0600)};
  std::optional<FakePeer> peer;
  std::unique_ptr<gpl::client::Session> session;
  Attachment attachment;
  gpl::client::SubmissionRequest request;

  explicit Scene(FakePeer::Answering answering) {
    folder.write("here/train.py", "print(1)\n");
    peer.emplace(folder / "sock", TreePeer(std::move(answering)));
    session = connect(folder / "sock", silent);
    request.job.spec.command = {"python", "train.py"};
    request.source = folder / "here";
    request.cache_folder = folder / "cache";
    attachment.spec = request.job.spec;
    attachment.target_folder = folder / "here";
    attachment.targets = {out.get(), err.get(), false};
  }

  gpl::Result<PeerReport> run() {
    auto submission = Submission::begin(*session, request, silent);
    REQUIRE(submission.ok());
    return gpl::client::run_on_peer(*session, submission.value(), attachment, silent);
  }
};

}  // namespace

TEST_CASE("a run brings its files, then its job, and carries output and exit code") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    peer.say(message.question, wire::Submitted{JobId{12}});
    write(peer, message.question, OutputStream::out, 0, "epoch 1\n");
    write(peer, message.question, OutputStream::err, 0, "warning\n");
    end(peer, message.question, gpl::Exited{3});
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 3);
  CHECK(report.value().job == JobId{12});
  CHECK(report.value().attempt == AttemptId{5});
  CHECK(report.value().peer == "lab2");
  CHECK(report.value().outcome == Outcome(gpl::Exited{3}));
  CHECK(scene.folder.read("out") == "epoch 1\n");
  CHECK(scene.folder.read("err") == "warning\n");

  const auto chunks = scene.peer->asked_of<wire::PutChunk>();
  REQUIRE(chunks.size() == 1);
  CHECK(chunks.front().data == "print(1)\n");
  const auto submitted = scene.peer->asked_of<wire::SubmitJob>();
  REQUIRE(submitted.size() == 1);
  CHECK(submitted.front().attached);
  CHECK(submitted.front().job.tree.size() == 32);
}

TEST_CASE("every byte that is handed on is told, so that more may come") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (const auto* taken = std::get_if<wire::Taken>(&message.body)) {
      CHECK(taken->question == message.question);
      if (taken->bytes == 100) end(peer, message.question, gpl::Exited{0});
    }
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    peer.say(message.question, wire::Submitted{JobId{12}});
    write(peer, message.question, OutputStream::out, 0, std::string(100, 'x'));
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 0);
}

TEST_CASE("a connection lost in the middle of output costs no byte and repeats none") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      return write(peer, message.question, OutputStream::out, 0, "abc");
    }
    if (std::holds_alternative<wire::Taken>(message.body) && peer.connections() == 1) {
      return peer.hang_up();
    }
    if (std::holds_alternative<wire::Follow>(message.body)) {
      write(peer, message.question, OutputStream::out, 2, "cdef");
      end(peer, message.question, gpl::Exited{0});
    }
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 0);
  CHECK(scene.folder.read("out") == "abcdef");
  const auto follows = scene.peer->asked_of<wire::Follow>();
  REQUIRE(follows.size() == 1);
  CHECK(follows.front().job == JobId{12});
  CHECK(follows.front().attached);
  CHECK(follows.front().from ==
        std::vector<wire::Position>{{TaskId{0}, AttemptId{5}, OutputStream::out, 3}});
}

TEST_CASE("a submit whose answer was lost is the same request again, and makes one job") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    if (peer.connections() == 1) return peer.hang_up();
    peer.say(message.question, wire::Submitted{JobId{12}});
    end(peer, message.question, gpl::Exited{0});
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  const auto submits = scene.peer->asked_of<wire::SubmitJob>();
  REQUIRE(submits.size() == 2);
  CHECK(submits[0] == submits[1]);
  CHECK(submits[0].request != gpl::RequestId{});
}

TEST_CASE("a tree that went with its connection is brought again") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    if (peer.connections() == 1) return peer.hang_up();
    if (peer.asked_of<wire::SubmitJob>().size() == 2) {
      wire::Refused refused;
      refused.message = "the tree is not here";
      return peer.say(message.question, refused);
    }
    peer.say(message.question, wire::Submitted{JobId{12}});
    end(peer, message.question, gpl::Exited{0});
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(scene.peer->asked_of<wire::CommitTree>().size() == 2);
  const auto submits = scene.peer->asked_of<wire::SubmitJob>();
  REQUIRE(submits.size() == 3);
  CHECK(submits[2] == submits[0]);
}

TEST_CASE("a refused job is an error with the peer's words, and submitted once") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    wire::Refused refused;
    refused.message = "no peer can run this";
    peer.say(message.question, refused);
  });
  const auto report = scene.run();
  REQUIRE_FALSE(report.ok());
  CHECK(report.error().message == "no peer can run this");
  CHECK(scene.peer->asked_of<wire::SubmitJob>().size() == 1);
}

TEST_CASE("what --out names is brought with its mode and forgotten there, the rest stays") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      return end(peer, message.question, gpl::Exited{0});
    }
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      wire::Results results;
      results.files = {{TaskId{0}, "log.csv", 3, 0644, 0, false, false},
                       {TaskId{0}, "out/model.pt", 5, 0755, 1'000'000'000, false, false}};
      return peer.say(message.question, results);
    }
    if (const auto* fetch = std::get_if<wire::FetchFile>(&message.body)) {
      const bool first = fetch->offset == 0;
      return peer.say(message.question,
                      first ? wire::FilePiece{"wei", false} : wire::FilePiece{"gh", true});
    }
    if (std::holds_alternative<wire::ForgetFiles>(message.body)) {
      peer.say(message.question, wire::Done{});
    }
  });
  scene.attachment.spec.outputs = {"out"};
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 0);
  CHECK(scene.folder.read("here/out/model.pt") == "weigh");
  struct stat status;
  REQUIRE(::stat((scene.folder / "here/out/model.pt").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0755);
  CHECK(status.st_mtim.tv_sec == 1);
  CHECK(scene.peer->asked_of<wire::ForgetFiles>() ==
        std::vector<wire::ForgetFiles>{{JobId{12}, TaskId{0}, {"out/model.pt"}}});
  REQUIRE(report.value().results.kept.size() == 1);
  CHECK(report.value().results.kept.front().path == "log.csv");
}

TEST_CASE("a result whose path leads out is not written, and the run says that it failed") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      return end(peer, message.question, gpl::Exited{0});
    }
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question,
                      wire::Results{{{TaskId{0}, "../stolen", 1, 0644, 0, false, false}}, {}});
    }
    if (std::holds_alternative<wire::FetchFile>(message.body)) {
      peer.say(message.question, wire::FilePiece{"x", true});
    }
  });
  scene.attachment.spec.outputs = {"**"};
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 125);
  CHECK(::access((scene.folder / "stolen").c_str(), F_OK) != 0);
  CHECK(scene.peer->asked_of<wire::FetchFile>().empty());
}

TEST_CASE("an interrupt goes to a job that runs") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      write(peer, message.question, OutputStream::out, 0, "x");
    }
    if (std::holds_alternative<wire::Taken>(message.body)) ::kill(::getpid(), SIGINT);
    if (std::holds_alternative<wire::ListJobs>(message.body)) {
      wire::JobSummary job;
      job.id = JobId{12};
      job.state = "running";
      peer.say(message.question, wire::JobList{{job}, true});
    }
    if (const auto* signal = std::get_if<wire::SignalTask>(&message.body)) {
      peer.say(message.question, wire::Done{});
      const auto submits = peer.asked();
      const auto submit =
          std::find_if(submits.begin(), submits.end(), [](const wire::ClientMessage& asked) {
            return std::holds_alternative<wire::SubmitJob>(asked.body);
          });
      end(peer, submit->question, gpl::Signalled{signal->signal});
    }
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 128 + SIGINT);
  CHECK(scene.peer->asked_of<wire::CancelJob>().empty());
}

TEST_CASE("an interrupt cancels a job that waits") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::AskResults>(message.body)) {
      return peer.say(message.question, wire::Results{});
    }
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      ::kill(::getpid(), SIGINT);
    }
    if (std::holds_alternative<wire::ListJobs>(message.body)) {
      wire::JobSummary job;
      job.id = JobId{12};
      job.state = "queued";
      peer.say(message.question, wire::JobList{{job}, true});
    }
    if (std::holds_alternative<wire::CancelJob>(message.body)) {
      peer.say(message.question, wire::Done{});
      for (const wire::ClientMessage& asked : peer.asked()) {
        if (!std::holds_alternative<wire::SubmitJob>(asked.body)) continue;
        peer.say(asked.question, wire::JobEnded{JobId{12}, {}, gpl::Cancelled{}});
      }
    }
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 130);
  CHECK(scene.peer->asked_of<wire::SignalTask>().empty());
}

TEST_CASE("a hangup leaves at once, and the job goes on") {
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (!std::holds_alternative<wire::SubmitJob>(message.body)) return;
    peer.say(message.question, wire::Submitted{JobId{12}});
    ::kill(::getpid(), SIGHUP);
  });
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 128 + SIGHUP);
  CHECK_FALSE(report.value().outcome.has_value());
  CHECK(scene.peer->asked_of<wire::CancelJob>().empty());
}

TEST_CASE("a closed stdout cancels the job and leaves with 141") {
  ::signal(SIGPIPE, SIG_IGN);
  Scene scene([](FakePeer& peer, const wire::ClientMessage& message) {
    if (std::holds_alternative<wire::SubmitJob>(message.body)) {
      peer.say(message.question, wire::Submitted{JobId{12}});
      write(peer, message.question, OutputStream::out, 0, "abc");
    }
    if (std::holds_alternative<wire::CancelJob>(message.body)) {
      peer.say(message.question, wire::Done{});
    }
  });
  scene.attachment.targets.out_closed = true;
  const auto report = scene.run();
  REQUIRE(report.ok());
  CHECK(report.value().exit_status == 128 + SIGPIPE);
  CHECK(scene.peer->asked_of<wire::CancelJob>().size() == 1);
  CHECK(scene.peer->asked_of<wire::AskResults>().empty());
}
