#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/auth/handshake.h"

namespace gpl::auth {

/// What each end says in the clear before the handshake: gpl-protocol(7). The form is the same in
/// all protocols, so that any two versions can tell each other what they speak.
inline constexpr std::size_t hello_bytes = 8;

enum class HelloOutcome : std::uint8_t {
  fine = 0,         ///< message 2 follows
  no_protocol = 1,  ///< none in common
  refused = 2,      ///< message 1 is not of this cluster's key for the role
};

struct Hello {
  std::uint8_t word = 0;  ///< the initiator's Role, the responder's HelloOutcome
  ProtocolRange protocols;
};

std::string encode(const Hello& hello);
/// Requires `hello_bytes` bytes. Nothing: this is no gpl.
std::optional<Hello> decode_hello(std::string_view bytes);

/// The newest that both speak; nothing when there is none.
std::optional<std::uint16_t> newest_common(const ProtocolRange& one, const ProtocolRange& other);
/// "1", "2 to 4".
std::string words_of(const ProtocolRange& range);

}  // namespace gpl::auth
