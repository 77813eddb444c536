#include "outcome_json.h"

namespace gpl::cmd {

Json outcome_json(const Outcome& outcome) {
  Json json = {{"kind", name_of(outcome)},
               {"exit_code", nullptr},
               {"signal", nullptr},
               {"message", nullptr}};
  if (const auto* exited = std::get_if<Exited>(&outcome)) json["exit_code"] = exited->code;
  if (const auto* signalled = std::get_if<Signalled>(&outcome)) json["signal"] = signalled->signal;
  if (const auto* failed = std::get_if<FailedToStart>(&outcome)) json["message"] = failed->message;
  if (const auto* lost = std::get_if<Lost>(&outcome)) json["message"] = lost->why;
  return json;
}

}  // namespace gpl::cmd
