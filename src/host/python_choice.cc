#include "gpl/host/python_choice.h"

#include <unistd.h>

namespace gpl::host {

PythonChoice python_choice(const PythonEnvironment& environment) {
  PythonChoice choice;
  choice.folder = environment.python.substr(0, environment.python.rfind('/'));
  choice.root = environment.root;
  if (::access((environment.root + "/pyvenv.cfg").c_str(), F_OK) == 0) {
    choice.variable = "VIRTUAL_ENV";
  } else if (::access((environment.root + "/conda-meta").c_str(), F_OK) == 0) {
    choice.variable = "CONDA_PREFIX";
  }
  return choice;
}

}  // namespace gpl::host
