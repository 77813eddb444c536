#include <algorithm>
#include <string>
#include <vector>

#include "gpl/client/job_words.h"
#include "gpl/client/shown_words.h"
#include "gpl/client/status_table.h"
#include "gpl/core/size.h"

namespace gpl::client {
namespace {

/// The lines below a job's first one.
class Lines {
 public:
  void add(const char* subject, const std::string& words) {
    if (words.empty()) return;
    std::string line = std::string("  ") + subject;
    line.resize(std::max(line.size() + 2, std::size_t{13}), ' ');
    text_ += line + words + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : ", ") + printable(word);
  return line;
}

std::string at_words(Instant at, Instant now) {
  return local_time(at) + ", " + format_short(now - at) + " ago";
}

std::string task_words(const wire::JobSummary& job) {
  if (job.tasks == 1) return "";
  return std::to_string(job.tasks) + ": " + std::to_string(job.succeeded) + " ended well, " +
         std::to_string(job.failed) + " failed, " + std::to_string(job.running) + " under way, " +
         std::to_string(job.waiting) + " waiting";
}

std::string headline(const wire::JobSummary& job, Instant now) {
  std::string line = "job " + std::to_string(job.id.value) + ": ";
  if (job.outcome) return line + outcome_words(*job.outcome) + "\n";
  line += state_words(job);
  const Instant since = job.started_at.value_or(job.submitted_at);
  line += " for " + format_short(now - since);
  return line + (job.why.empty() || job.why == job.state ? "" : ": " + printable(job.why)) + "\n";
}

std::string after_words(const std::vector<Dependency>& after) {
  std::string words;
  for (const Dependency& dependency : after) {
    words += (words.empty() ? "job " : ", job ") + std::to_string(dependency.job.value);
    switch (dependency.after) {
      case After::ok:
        words += " ended well";
        break;
      case After::any:
        words += " ended";
        break;
      case After::fail:
        words += " failed";
        break;
    }
  }
  return words;
}

std::string loss_words(const JobDescription& job) {
  switch (job.on_loss) {
    case OnLoss::wait:
      return "";
    case OnLoss::retry:
      return "start again elsewhere, after " + format_duration(job.lease);
    case OnLoss::fail:
      return "fail";
  }
  return "";
}

void add_description(const JobDescription& job, Lines& lines) {
  lines.add("needs", requirement_words(job.requirement));
  lines.add("folder", printable(job.spec.folder) +
                          (job.spec.staging == StagingMode::none ? " (there itself)" : ""));
  lines.add("out", joined(job.spec.outputs));
  if (job.spec.time_limit) lines.add("time limit", format_duration(*job.spec.time_limit));
  if (job.retries > 0) lines.add("retries", std::to_string(job.retries));
  lines.add("on loss", loss_words(job));
  if (job.priority != 0) lines.add("priority", std::to_string(job.priority));
  lines.add("after", after_words(job.after));
  lines.add("secrets", joined(job.spec.secrets));
}

}  // namespace

std::string job_text(const wire::JobSummary& job, Instant now) {
  Lines lines;
  lines.add("name", printable(job.name));
  lines.add("command", printable(shell_words(job.command)));
  lines.add("by", printable(job.submitter_name));
  lines.add("submitted", at_words(job.submitted_at, now));
  if (job.started_at) lines.add("started", at_words(*job.started_at, now));
  if (job.ended_at) lines.add("ended", at_words(*job.ended_at, now));
  lines.add("where", joined(job.where));
  lines.add("tasks", task_words(job));
  if (job.description) add_description(*job.description, lines);
  if (job.state == "held") lines.add("held", "gpl release " + std::to_string(job.id.value));
  if (job.client_gone && job.state != "ended")
    lines.add("client", "is gone: gpl attach " + std::to_string(job.id.value));
  if (job.left_out_bytes > 0)
    lines.add("output",
              format_file_size(job.left_out_bytes) +
                  " of it were not kept: nobody followed it, and it was over what is kept "
                  "or the disk was full");
  if (job.kept_files > 0)
    lines.add("kept", format_file_size(job.kept_bytes) + ", " + kept_words(job));
  return headline(job, now) + lines.text();
}

}  // namespace gpl::client
