#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "gpl/core/size.h"
#include "gpl/peer/admission.h"
#include "gpl/peer/client_session.h"
#include "gpl/posix/clock.h"
#include "gpl/raft/entry.h"
#include "gpl/wire/codec.h"

namespace gpl::peer {
namespace {

/// Whether the values are those of the names that the job has.
Status check_secrets(const wire::SubmitJob& asked) {
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const wire::Secret& secret : asked.secrets) {
    names.insert(secret.name);
    bytes += secret.name.size() + secret.value.size();
  }
  const auto& wanted = asked.job.spec.secrets;
  if (names != std::set<std::string>(wanted.begin(), wanted.end()))
    return Error{Code::invalid, "the job's secrets and their values do not fit together"};
  if (bytes > most_secret_bytes)
    return Error{Code::too_large, "its secrets take " + format_file_size(bytes) + ", of which " +
                                      format_file_size(most_secret_bytes) + " can be kept"};
  return success();
}

Error too_long(std::size_t bytes) {
  return Error{Code::too_large, "its command, environment and options take " +
                                    format_file_size(bytes) + ", of a job the queue takes " +
                                    format_file_size(raft::entry_limit_bytes) +
                                    ": put what is long into a file, and stage that"};
}

}  // namespace

void ClientSession::ask(Question question, wire::SubmitJob& asked) {
  submit(question, asked, std::nullopt);
}

void ClientSession::submit(Question question, const wire::SubmitJob& asked,
                           std::optional<PeerId> has_tree) {
  const ClusterState* state = state_for(question);
  if (state == nullptr || is_taken(question)) return;
  if (const auto job = state->find_request(asked.request)) {
    if (job_for(question, *job, true) == nullptr) return;
    return submitted(question, *job, asked.attached);
  }
  if (parts_.leaving) return refuse(question, Error{Code::busy, "this peer leaves its cluster"});
  if (const auto full = parts_.peer.short_of_space()) return refuse(question, *full);
  if (Status fine = check_secrets(asked); !fine.ok()) return refuse(question, fine.error());
  const ContentId& tree = asked.job.tree;
  if (tree.empty() || kept_trees_.contains(tree) || parts_.peer.is_pinned(tree))
    return admit_job(question, asked);
  // It was brought in by a connection that is gone: its pin went with that.
  const auto digest = artifact::Digest::from_bytes(tree);
  if (!digest) return refuse(question, Error{Code::invalid, "its tree is no content's name"});
  const auto whole = std::make_shared<Result<bool>>(false);
  parts_.pool->submit(
      ticket_,
      [store = parts_.store.get(), digest = *digest, number = number_, whole] {
        const Status pinned =
            store->pin({digest, "client-" + std::to_string(number)}, posix::Durability::none);
        *whole = pinned.ok() ? store->is_whole(digest) : Result<bool>(pinned.error());
      },
      [this, question, asked, has_tree, whole] {
        if (!whole->ok()) return refuse(question, whole->error());
        if (whole->value()) return admit_job(question, asked);
        if (!has_tree)
          return refuse(question,
                        Error{Code::not_found, "its files are not here: submit it again"});
        parts_.pulls->bring(asked.job.tree, has_tree, number_,
                            guarded([this, question, asked](const Status& brought) {
                              if (!brought.ok()) return refuse(question, brought.error());
                              admit_job(question, asked);
                            }));
      });
}

/// The tree is pinned until the job's own pin has been asked for, and after.
void ClientSession::admit_job(Question question, const wire::SubmitJob& asked) {
  const ClusterState* state = state_for(question);
  if (state == nullptr) return;
  auto admitted = admit(*state, asked, submitter(), all_have_reported(*parts_.consensus),
                        posix::wall_clock(), parts_.peer.can_place(), parts_.peer.unlinked(*state));
  if (auto* refused = std::get_if<wire::Refused>(&admitted))
    return answer(question, std::move(*refused));
  const auto& command = std::get<command::Submit>(admitted);
  if (const std::size_t bytes = wire::encode(std::vector{Command{command}}).size();
      bytes > raft::entry_limit_bytes)
    return refuse(question, too_long(bytes));
  if (Status kept = parts_.secrets->keep(asked.request, asked.secrets); !kept.ok())
    return refuse(question, kept.error());
  propose(question, asked, command);
}

/// It is acknowledged once the job is durable, and its tree and secrets are with a second peer.
void ClientSession::propose(Question question, const wire::SubmitJob& asked,
                            const command::Submit& command) {
  struct UnderWay {
    std::optional<Result<Applied>> applied;
    bool held = false;
  };
  auto under_way = std::make_shared<UnderWay>();
  const std::function<void()> look =
      guarded([this, question, attached = asked.attached, under_way] {
        if (!under_way->applied || !under_way->held) return;
        const Result<Applied>& applied = *under_way->applied;
        if (!applied.ok()) return refuse(question, applied.error());
        if (applied.value().refused) return refuse(question, *applied.value().refused);
        submitted(question, *applied.value().job, attached);
      });
  parts_.peer.hold_elsewhere(asked, [under_way, look] {
    under_way->held = true;
    look();
  });
  parts_.consensus->propose(Command{command}, [under_way, look, secrets = parts_.secrets.get(),
                                               request = asked.request](Result<Applied> applied) {
    // Refused for good; what only may have been lost is told again.
    if (applied.ok() && applied.value().refused) secrets->remove(request);
    under_way->applied = std::move(applied);
    look();
  });
}

void ClientSession::submitted(Question question, JobId job, bool attached) {
  answer(question, wire::Submitted{job});
  if (!attached) return;
  wire::Follow question_of_it;
  question_of_it.job = job;
  question_of_it.attached = true;
  route(question, std::move(question_of_it));
}

void ClientSession::change(Question question, Command command) {
  parts_.consensus->propose(std::move(command), guarded([this, question](Result<Applied> applied) {
                              if (!applied.ok()) return refuse(question, applied.error());
                              if (applied.value().refused)
                                return refuse(question, *applied.value().refused);
                              answer(question, wire::Done{});
                            }));
}

void ClientSession::ask(Question question, wire::CancelJob& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  change(question, command::Cancel{asked.job, asked.tasks, posix::wall_clock()});
}

void ClientSession::ask(Question question, wire::HoldJob& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  change(question, command::Hold{asked.job, posix::wall_clock()});
}

void ClientSession::ask(Question question, wire::ReleaseJob& asked) {
  if (job_for(question, asked.job, true) == nullptr) return;
  change(question, command::Release{asked.job, posix::wall_clock()});
}

/// The tree is kept for as long as the job is known.
void ClientSession::ask(Question question, wire::RerunJob& asked) {
  const JobRecord* job = job_for(question, asked.job, true);
  if (job == nullptr) return;
  if (!job->description->spec.secrets.empty())
    return refuse(question, Error{Code::unsupported,
                                  "it had secrets, which are gone with it: submit it again"});
  wire::SubmitJob again{asked.request, *job->description, {}, false};
  again.job.after.clear();  // it has ended otherwise than they can ask, or they have ended
  submit(question, again, job->submitter.peer);
}

}  // namespace gpl::peer
