#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/client/data_files.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/host/temp_folder.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// A job that is to be submitted to a peer.
struct SubmissionRequest {
  JobDescription job;                 ///< but its tree
  std::vector<wire::Secret> secrets;  ///< of job.spec.secrets
  std::vector<DataWish> data;
  std::string source;        ///< the caller's current folder, absolute
  std::string cache_folder;  ///< of the stat cache
};

/// One submit: what is taken along is looked up once, the tree is brought to the peer as often as
/// it takes, and the request is the same one all along, so that the job is made once.
class Submission {
 public:
  /// Selects the files, and fetches data that earlier jobs made. Code::invalid for a job that makes
  /// no sense.
  static Result<Submission> begin(Session& session, SubmissionRequest request, const Voice& voice);

  /// Sees to it that the peer has the tree, for as long as this connection lives.
  Status bring_tree(Session& session, const Voice& voice);
  /// Requires `bring_tree`.
  wire::SubmitJob question(bool attached) const;
  /// The paths that are taken along, ordered.
  const std::vector<std::string>& staged() const { return staged_; }

 private:
  explicit Submission(SubmissionRequest request) : request_(std::move(request)) {}
  Status take_data(Session& session, const DataWish& wish);

  SubmissionRequest request_;
  RequestId id_;
  artifact::Selection selection_;
  std::vector<std::string> staged_;
  bool notes_told_ = false;
  std::optional<host::TempFolder> fetched_;  // what earlier jobs made
};

/// Submits, and returns once the job is durable.
Result<JobId> submit_detached(Session& session, Submission& submission, const Voice& voice);

}  // namespace gpl::client
