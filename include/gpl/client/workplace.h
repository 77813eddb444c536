#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpl/artifact/selection.h"
#include "gpl/client/voice.h"
#include "gpl/core/job.h"
#include "gpl/core/result.h"
#include "gpl/host/spool.h"
#include "gpl/host/temp_folder.h"

namespace gpl::client {

/// Where one attempt of an embedded run works: its spool with the private copy, and its temporary
/// folder. The spool stays on disk when this ends; the temporary folder does not.
struct Workplace {
  host::Spool spool;
  host::TempFolder temp;
  std::string folder;  ///< the command's working folder
  std::vector<artifact::Entry> staged;
};

/// What is to be taken of `source`, the caller's current folder. Nothing from the home folder or /
/// unless --stage names it.
Result<artifact::Selection> select_files(const JobSpec& spec, const std::string& source,
                                         const Voice& voice);

/// Says what a person must know of what is taken, the first few notes of it.
void say_notes(const std::vector<artifact::Note>& notes, const Voice& voice);

/// Makes the workplace with a copy of what was selected. `interrupted` is asked all along; once it
/// says yes this fails with Code::busy. After a failure nothing is left behind.
Result<Workplace> make_workplace(host::SpoolFolder& spools, const JobSpec& spec,
                                 const std::string& source, artifact::Selection selection,
                                 const std::function<bool()>& interrupted, const Voice& voice);

}  // namespace gpl::client
