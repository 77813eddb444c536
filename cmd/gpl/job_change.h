#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gpl/client/job_choice.h"
#include "gpl/client/session.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"
#include "option_table.h"

namespace gpl::cmd {

/// The row of `--everyone`, for the tables of commands that take JOB words.
inline constexpr OptionRow everyone_row = {"everyone", OptionRow::Kind::flag, "", "Options:",
                                           "last and all mean everyone's jobs, not yours alone"};

/// Says what went wrong, and gives the exit code: 2 usage; 125 the peer is gone; else 1, it said
/// no.
int complain_of_answer(const Error& error, const client::Session& session);

/// Asks the question of each job, whatever becomes of the others, and complains of every refusal
/// with the job's number. `done` is told of the other answers, in the jobs' order. Returns the
/// highest exit code.
int change_each(client::Session& session, const std::vector<client::ChosenJob>& jobs,
                const std::function<wire::Question(const client::ChosenJob&)>& question,
                const std::function<void(const client::ChosenJob&, const wire::Answer&)>& done);

/// Code::invalid when one of them is a task: `command` takes whole jobs.
Status require_whole_jobs(const std::string& command, const std::vector<client::ChosenJob>& jobs);

}  // namespace gpl::cmd
