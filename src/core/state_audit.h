#pragma once

#include "gpl/core/result.h"
#include "state.h"

namespace gpl {

/// Whether the records are those of a state that commands can make, but for the index, which is not
/// looked at. The records may be hostile. Code::invalid with what is wrong with which; Code::
/// unsupported when a newer gpl wrote them.
Status audit(const State& state);

/// Fills the empty index of sound records.
void build_index(State& state);

}  // namespace gpl
