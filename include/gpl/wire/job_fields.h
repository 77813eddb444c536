#pragma once

#include "gpl/core/job.h"
#include "gpl/core/job_description.h"
#include "gpl/wire/id_fields.h"
#include "gpl/wire/requirement_fields.h"
#include "gpl/wire/time_fields.h"

namespace gpl::wire {

template <>
inline constexpr auto last_enumerator<StagingMode> = last_is<StagingMode::none>();
template <>
inline constexpr auto last_enumerator<OnLoss> = last_is<OnLoss::fail>();
template <>
inline constexpr auto last_enumerator<After> = last_is<After::fail>();

template <>
inline constexpr auto fields<EnvironmentVariable> = list_of<EnvironmentVariable>(
    "environment variable", &EnvironmentVariable::name, &EnvironmentVariable::value);

template <>
inline constexpr auto fields<JobSpec> = list_of<JobSpec>("job spec", &JobSpec::command,
                                                         &JobSpec::name, &JobSpec::env,
                                                         &JobSpec::stage, &JobSpec::staging,
                                                         &JobSpec::folder, &JobSpec::outputs,
                                                         &JobSpec::pass_stdin, &JobSpec::secrets,
                                                         &JobSpec::time_limit);

template <>
inline constexpr auto fields<Single> = list_of<Single>("single");

template <>
inline constexpr auto fields<Array> = list_of<Array>("array", &Array::tasks, &Array::limit);

template <>
inline constexpr auto fields<Gang> = list_of<Gang>("gang", &Gang::nodes, &Gang::launcher);

template <>
inline constexpr auto fields<Service> = list_of<Service>("service", &Service::replicas);

template <>
inline constexpr auto fields<Dependency> = list_of<Dependency>("dependency", &Dependency::job,
                                                               &Dependency::after);

template <>
inline constexpr auto fields<Submitter> = list_of<Submitter>("submitter", &Submitter::client,
                                                             &Submitter::peer, &Submitter::uid);

template <>
inline constexpr auto fields<JobDescription> = list_of<JobDescription>(
    "job description", &JobDescription::spec, &JobDescription::requirement, &JobDescription::shape,
    &JobDescription::tree, &JobDescription::on_loss, &JobDescription::lease,
    &JobDescription::retries, &JobDescription::priority, &JobDescription::after,
    &JobDescription::held, &JobDescription::allow_pending);

}  // namespace gpl::wire
