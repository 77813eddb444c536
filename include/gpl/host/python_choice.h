#pragma once

#include "gpl/core/environment.h"
#include "gpl/host/job_environment.h"

namespace gpl::host {

/// What makes a job use this Python environment: looks whether it is a venv or conda's.
PythonChoice python_choice(const PythonEnvironment& environment);

}  // namespace gpl::host
