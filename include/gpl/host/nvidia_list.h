#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device.h"

namespace gpl::host {

/// A card as `nvidia-smi -L` shows it.
struct NvidiaListed {
  int index = 0;
  std::string name;
  std::string uuid;
  std::vector<Partition> slices;  ///< UUID and profile; of old drivers the GPU instance too
  std::string fault;              ///< the message in the place of a card whose handle is bad
};

struct NvidiaList {
  std::vector<NvidiaListed> cards;
  std::vector<std::string> notes;
};

/// Reads `nvidia-smi -L`. A line that is neither card nor slice stands for a card when an index is
/// missing there, or when it speaks of a device's handle or a PCI address; else it is a note.
NvidiaList parse_nvidia_list(std::string_view text);

/// Whether a message speaks of one card that cannot be reached, not of the driver.
bool names_a_bad_card(std::string_view message);

}  // namespace gpl::host
