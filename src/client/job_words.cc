#include "gpl/client/job_words.h"

#include <csignal>
#include <cstring>
#include <ctime>

#include "gpl/client/shown_words.h"
#include "gpl/core/overloaded.h"
#include "gpl/core/size.h"
#include "gpl/core/worker.h"

namespace gpl::client {
namespace {

/// What became of a job that was told to end; "" it ended by itself, or never ran.
std::string ended_by(int signal) {
  if (signal == 0) return "";
  if (signal != SIGKILL) return " (by " + signal_words(signal) + ")";
  return " (killed by " + signal_words(signal) + ": it did not end within " +
         std::to_string(WorkerOptions{}.grace.count_ms / 1000) + " s of SIGTERM)";
}

std::string counted(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string failed_words(const wire::JobSummary& job) {
  return job.failed == 0 ? "" : " (" + std::to_string(job.failed) + " failed)";
}

std::string device_words(const Requirement& asked) {
  std::string words = std::to_string(asked.gpus) + " ";
  words += asked.kind ? std::string(name_of(*asked.kind)) : asked.gpus == 1 ? "gpu" : "gpus";
  if (asked.gpu_memory_bytes) {
    words +=
        ", " + format_memory_size(*asked.gpu_memory_bytes) + (asked.gpu_share ? " of it" : " each");
  }
  if (!asked.gpu_model.empty()) words += ", model " + printable(asked.gpu_model);
  if (asked.compute_capability)
    words += ", compute capability >=" + to_string(*asked.compute_capability);
  return words;
}

}  // namespace

std::string signal_words(int number) {
  const char* name = ::sigabbrev_np(number);
  std::string words = "signal " + std::to_string(number);
  return name == nullptr ? words : words + " (SIG" + name + ")";
}

std::string outcome_words(const Outcome& outcome) {
  return std::visit(
      Overloaded{
          [](const Exited& exited) { return "exited " + std::to_string(exited.code); },
          [](const Signalled& ended) {
            return "killed by " + signal_words(ended.signal) +
                   (ended.core_dumped ? ", core dumped" : "");
          },
          [](const TimedOut& ended) { return "time limit reached" + ended_by(ended.signal); },
          [](const Cancelled& ended) { return "cancelled" + ended_by(ended.signal); },
          [](const FailedToStart& failed) {
            return "failed to start: " + printable(failed.message);
          },
          [](const Lost& lost) { return "lost: " + printable(lost.why); }},
      outcome);
}

std::string outcome_in_short(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const Exited& exited) { return "ended " + std::to_string(exited.code); },
                 [](const Signalled& ended) {
                   const char* name = ::sigabbrev_np(ended.signal);
                   return name == nullptr ? "signal " + std::to_string(ended.signal)
                                          : "SIG" + std::string(name);
                 },
                 [](const TimedOut&) { return std::string("timed out"); },
                 [](const Cancelled&) { return std::string("cancelled"); },
                 [](const FailedToStart&) { return std::string("not started"); },
                 [](const Lost&) { return std::string("lost"); }},
      outcome);
}

std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 10;
  const bool is_teen = number % 100 / 10 == 1;
  const char* ending = is_teen || last == 0 || last > 3 ? "th"
                       : last == 1                      ? "st"
                       : last == 2                      ? "nd"
                                                        : "rd";
  return std::to_string(number) + ending;
}

std::string state_words(const wire::JobSummary& job) {
  if (job.state == "ended" && job.outcome) {
    const std::string of_all =
        job.tasks == 1 || job.failed == 0
            ? ""
            : " (" + std::to_string(job.failed) + " of " + std::to_string(job.tasks) + " failed)";
    return outcome_in_short(*job.outcome) + of_all;
  }
  if (job.state == "queued" && job.position > 0) return "queued (" + ordinal(job.position) + ")";
  if (job.tasks == 1 || job.succeeded + job.failed == 0) return printable(job.state);
  return printable(job.state) + " " + std::to_string(job.succeeded + job.failed) + "/" +
         std::to_string(job.tasks) + failed_words(job);
}

std::string requirement_words(const Requirement& asked) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  if (asked.gpus > 0) add(device_words(asked));
  if (asked.cpus) add(counted(static_cast<std::uint64_t>(*asked.cpus), "cpu"));
  if (asked.memory_bytes) add(format_memory_size(*asked.memory_bytes) + " memory");
  for (const FrameworkWish& wish : asked.frameworks) {
    const std::string specifiers = wish.specifiers.to_string();
    add(printable(wish.shown_name() + (specifiers.empty() ? "" : " " + specifiers)));
  }
  if (!asked.environment.empty()) add("environment " + printable(asked.environment));
  if (!asked.on.empty()) add("on " + printable(asked.on));
  for (const Label& label : asked.labels) add(printable(label.key + "=" + label.value));
  return words;
}

std::string kept_words(const wire::JobSummary& job) {
  if (job.kept_files == 0) return "";
  return counted(job.kept_files, "file") + " kept" +
         (job.kept_until ? " until " + local_date(*job.kept_until) : "") + ": gpl get " +
         std::to_string(job.id.value);
}

std::string local_time(Instant at) {
  const std::time_t seconds = at.since_epoch_ms / 1000;
  std::tm parts;
  char text[64];
  if (::localtime_r(&seconds, &parts) == nullptr) return "an impossible time";
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts));
}

std::string local_date(Instant at) {
  const std::string time = local_time(at);
  return time.substr(0, time.rfind(' '));
}

}  // namespace gpl::client
