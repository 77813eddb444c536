#include "json.h"

namespace gpl::cmd {

Json file_json(const artifact::Entry& entry) {
  Json json = {{"path", entry.path}, {"bytes", nullptr}};
  if (entry.type == artifact::EntryType::file) json["bytes"] = entry.size_bytes;
  return json;
}

}  // namespace gpl::cmd
