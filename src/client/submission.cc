#include "gpl/client/submission.h"

#include <sys/random.h>

#include <utility>

#include "gpl/client/fetch.h"
#include "gpl/client/job_choice.h"
#include "gpl/client/tree_upload.h"
#include "gpl/client/workplace.h"
#include "gpl/posix/error.h"
#include "gpl/posix/file.h"

namespace gpl::client {
namespace {

constexpr int most_tries = 5;

Result<RequestId> draw_request_id() {
  RequestId id;
  if (::getrandom(&id, sizeof id, 0) != static_cast<ssize_t>(sizeof id)) {
    return posix::io_error("cannot draw a random number");
  }
  return id;
}

// What of a job's results is the file at `path`, or lies in that folder.
std::vector<wire::ResultFile> below(const std::vector<wire::ResultFile>& files,
                                    const std::string& path) {
  std::vector<wire::ResultFile> found;
  for (const wire::ResultFile& file : files) {
    if (file.path == path || file.path.starts_with(path + "/")) found.push_back(file);
  }
  return found;
}

}  // namespace

Result<Submission> Submission::begin(Session& session, SubmissionRequest request,
                                     const Voice& voice) {
  if (Status valid = validate(request.job); !valid.ok()) return std::move(valid).error();
  Submission submission(std::move(request));
  Result<RequestId> id = draw_request_id();
  if (!id.ok()) return std::move(id).error();
  submission.id_ = id.value();
  Result<artifact::Selection> selection =
      select_files(submission.request_.job.spec, submission.request_.source, voice);
  if (!selection.ok()) return std::move(selection).error();
  submission.selection_ = std::move(selection).value();
  for (const DataWish& wish : submission.request_.data) {
    if (Status taken = submission.take_data(session, wish); !taken.ok()) {
      return std::move(taken).error();
    }
  }
  for (const artifact::Entry& entry : submission.selection_.entries) {
    submission.staged_.push_back(entry.path);
  }
  return submission;
}

Status Submission::take_data(Session& session, const DataWish& wish) {
  if (wish.job.empty()) return add_data(selection_, wish.path, wish.name);
  Result<ChosenJob> chosen = choose_job(session, wish.job, {});
  if (!chosen.ok()) return std::move(chosen).error();
  const JobId job = chosen.value().job.id;
  Result<wire::Results> results = ask_results(session, job);
  if (!results.ok()) return std::move(results).error();
  const std::vector<wire::ResultFile> wanted = below(results.value().files, wish.path);
  if (wanted.empty()) {
    return Error{Code::not_found, "--data: job " + wish.job + " keeps no '" + wish.path +
                                      "': it made none, or it was brought back already"};
  }
  if (!fetched_) {
    Result<host::TempFolder> folder = host::TempFolder::make();
    if (!folder.ok()) return std::move(folder).error();
    fetched_.emplace(std::move(folder).value());
  }
  // Two wishes may name the same path of two jobs.
  const std::string target = fetched_->path() + "/" + std::to_string(job.value);
  if (Status made = posix::make_folders(target, 0700); !made.ok()) return made;
  Result<artifact::Delivered> here = fetch_files(session, job, wanted, target, {});
  if (!here.ok()) return std::move(here).error();
  if (!here.value().failed.empty()) {
    const artifact::Undelivered& first = here.value().failed.front();
    return Error{Code::io,
                 "--data: " + first.entry.path + " of job " + wish.job + " " + first.reason};
  }
  return add_data(selection_, target + "/" + wish.path, wish.name);
}

Status Submission::bring_tree(Session& session, const Voice& voice) {
  const Voice silent(true);
  const Voice& told = std::exchange(notes_told_, true) ? silent : voice;
  Result<ContentId> tree =
      upload_tree(session, request_.source, selection_, request_.cache_folder, told);
  if (!tree.ok()) return std::move(tree).error();
  request_.job.tree = std::move(tree).value();
  return success();
}

wire::SubmitJob Submission::question(bool attached) const {
  return {id_, request_.job, request_.secrets, attached};
}

Result<JobId> submit_detached(Session& session, Submission& submission, const Voice& voice) {
  for (int tries = 1;; ++tries) {
    if (Status brought = submission.bring_tree(session, voice); !brought.ok()) {
      return std::move(brought).error();
    }
    const std::uint32_t connection = session.connection();
    Result<wire::Submitted> submitted =
        session.ask_for<wire::Submitted>(submission.question(false));
    if (submitted.ok()) return submitted.value().job;
    // The tree was safe on that connection alone.
    if (session.connection() == connection || tries == most_tries) {
      return std::move(submitted).error();
    }
  }
}

}  // namespace gpl::client
