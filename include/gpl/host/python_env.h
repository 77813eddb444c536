#pragma once

#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/core/environment.h"

namespace gpl::host {

/// Where to look for Python environments, and what tells.
struct EnvironmentSearch {
  std::string system_root;              ///< stands in for / in a test; "" is the machine itself
  std::vector<std::string> asked;       ///< --environment: folders or interpreters
  std::vector<std::string> configured;  ///< roots from the configuration
  std::string home;                     ///< the user's home folder; "" none
  std::string folder;                   ///< the current folder, for relative paths and pyenv
  std::string path;                     ///< $PATH
  std::string virtual_env;              ///< $VIRTUAL_ENV
  std::string conda_prefix;             ///< $CONDA_PREFIX
  std::string pyenv_root;               ///< $PYENV_ROOT
  std::string pyenv_version;            ///< $PYENV_VERSION
};

/// Takes PATH, VIRTUAL_ENV, CONDA_PREFIX, PYENV_ROOT and PYENV_VERSION from `environment`, which
/// holds "NAME=VALUE". Pure.
EnvironmentSearch environment_search(const std::vector<std::string>& environment, std::string home,
                                     std::string folder);

/// The environments that were found, and what was looked for and is not there or is broken.
struct FoundEnvironments {
  std::vector<PythonEnvironment> environments;
  std::vector<ProbeProblem> problems;
};

/// Every Python environment, each root once, from files alone: no Python is started. In this order:
/// those asked for, those configured, $VIRTUAL_ENV, $CONDA_PREFIX, python3 on PATH (scripts in its
/// place resolved), /usr/bin/python3, conda's and pyenv's. What was asked for and is not there is a
/// problem; the problems of one environment are in it, and hide no other.
FoundEnvironments find_environments(const EnvironmentSearch& search);

}  // namespace gpl::host
