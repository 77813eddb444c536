#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/device.h"

namespace gpl::host {

/// The fields to ask `nvidia-smi --query-gpu` for. `name` is last: cells are split by ", " and
/// never quoted, so that only there a comma would do no harm. pstate, temperature and utilization
/// are asked because a card that needs a reset or is lost shows in them.
std::vector<std::string> nvidia_query_fields();

/// What the tool printed: a card a row, and everything else that it said, a line each.
struct NvidiaQuery {
  std::vector<Accelerator> cards;  ///< in the tool's order; `index` is -1 where it did not say
  std::vector<std::string> notes;
};

/// Reads the answer to a query for `fields` in CSV, with units or without. A row is a line of as
/// many cells with an index, a UUID or a PCI address in its place; the other lines are notes. Of
/// any bytes: cells that are not understood are unknown.
NvidiaQuery parse_nvidia_query(std::string_view text, const std::vector<std::string>& fields);

/// The field that this driver's tool does not know, by its message: one such fails the whole query.
std::optional<std::string> unknown_nvidia_field(std::string_view text);

/// A PCI address as sysfs writes it: `00000000:3A:00.0` is `0000:3a:00.0`. "" for what is none.
std::string normalised_pci_address(std::string_view text);

/// The first PCI address in a message, normalised: "handle for GPU0000:17:00.0: ..."; "" none.
std::string pci_address_in(std::string_view text);

/// Bytes of `16376` or `16376 MiB`; nothing for 0 and for what is no such number.
std::optional<std::uint64_t> parse_mebibytes(std::string_view text);

}  // namespace gpl::host
