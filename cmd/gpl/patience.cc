#include "patience.h"

#include <unistd.h>

#include <utility>

namespace gpl::cmd {

Patience::Patience(client::Session& session, const client::Voice& voice, std::string words) {
  if (::isatty(STDERR_FILENO) == 0) return;
  timer_ =
      session.loop().after(seconds(1), [&voice, words = std::move(words)] { voice.say(words); });
}

}  // namespace gpl::cmd
