#include "gpl/host/framework_builds.h"

#include <algorithm>
#include <optional>
#include <set>

#include "gpl/core/ascii.h"
#include "gpl/core/framework_table.h"
#include "gpl/core/version.h"
#include "gpl/host/device_tag.h"
#include "gpl/host/framework_backend.h"

namespace gpl::host {
namespace {

struct Claim {
  const Distribution* distribution = nullptr;
  const FrameworkVariant* variant = nullptr;
};

bool is_stub(const Claim& claim) {
  if (claim.variant->stub_from.empty()) return false;
  const Result<Version> version = Version::parse(claim.distribution->version);
  const Result<Version> from = Version::parse(claim.variant->stub_from);
  return version.ok() && from.ok() && version.value() >= from.value();
}

// Newest first; what is no version comes last.
bool is_newer(const Distribution& a, const Distribution& b) {
  const Result<Version> left = Version::parse(a.version);
  const Result<Version> right = Version::parse(b.version);
  if (left.ok() != right.ok()) return left.ok();
  return left.ok() && left.value() > right.value();
}

bool same_public_version(const std::string& a, const std::string& b) {
  const Result<Version> left = Version::parse(a);
  const Result<Version> right = Version::parse(b);
  return left.ok() && right.ok() && left.value().compare_public(right.value()) == 0;
}

std::string with_version(const Distribution& distribution) {
  return distribution.name + " " + distribution.version;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

// Decides over one framework.
class Decision {
 public:
  Decision(const SystemRoot& root, std::string_view framework, std::vector<Claim> claims)
      : root_(root), framework_(framework), claims_(std::move(claims)) {}

  FrameworkBuild build(const std::string& conda_build) {
    const Claim chosen = choose();
    const Distribution& distribution = *chosen.distribution;
    const FrameworkBackends backends =
        framework_backends(root_, distribution, *chosen.variant, conda_build);
    build_.version = distribution.version;
    build_.dist = distribution.name;
    build_.editable = distribution.editable;
    build_.backends = backends.kinds;
    build_.backend_version = backends.version;
    std::set<std::string> dists;
    for (const Claim& claim : claims_) dists.insert(claim.distribution->name);
    build_.dists.assign(dists.begin(), dists.end());
    warn_of_version(distribution);
    warn_of_hidden(distribution);
    return std::move(build_);
  }

 private:
  void warn(std::string text) { build_.warnings.push_back(std::move(text)); }

  Claim choose() {
    const std::string& site = claims_.front().distribution->site;
    std::map<std::string, std::vector<Claim>> by_dist;
    for (const Claim& claim : claims_) {
      if (claim.distribution->site == site) by_dist[claim.distribution->name].push_back(claim);
    }
    std::vector<Claim> owners;
    owners.reserve(by_dist.size());
    for (const auto& [name, same] : by_dist) owners.push_back(choose_record(same));
    warn_of_clash(owners);
    return choose_owner(owners);
  }

  // Which of several records of one distribution tells the truth.
  Claim choose_record(std::vector<Claim> records) {
    std::stable_sort(records.begin(), records.end(), [](const Claim& a, const Claim& b) {
      return is_newer(*a.distribution, *b.distribution);
    });
    Claim chosen = records.front();
    const std::optional<std::string> in_files =
        version_in_files(root_, *chosen.distribution, framework_);
    if (in_files) {
      const auto find = [&](auto matches) {
        return std::find_if(records.begin(), records.end(), [&](const Claim& claim) {
          return matches(claim.distribution->version);
        });
      };
      auto found = find([&](const std::string& version) { return version == *in_files; });
      if (found == records.end()) {
        found = find(
            [&](const std::string& version) { return same_public_version(version, *in_files); });
      }
      if (found != records.end()) chosen = *found;
    }
    std::vector<std::string> others;
    for (const Claim& record : records) {
      if (record.distribution->version != chosen.distribution->version) {
        others.push_back(record.distribution->version);
      }
    }
    if (!others.empty()) {
      warn(chosen.distribution->site + "/ also records " + chosen.distribution->name + " " +
           joined(others) + ": left over from an earlier install, it seems");
    }
    return chosen;
  }

  // What comes with the plain distribution is its content, no rival.
  static bool is_content(const Claim& claim, const std::vector<Claim>& owners) {
    return claim.variant->content_of_plain &&
           std::any_of(owners.begin(), owners.end(), [](const Claim& owner) {
             return owner.variant->dist == owner.variant->framework;
           });
  }

  void warn_of_clash(const std::vector<Claim>& owners) {
    std::vector<std::string> names;
    for (const Claim& claim : owners) {
      if (!is_content(claim, owners)) names.push_back(with_version(*claim.distribution));
    }
    if (names.size() < 2) return;
    warn(joined(names) + (names.size() == 2 ? " both" : " all") + " write into " +
         std::string(framework_) +
         "/: the one installed last owns the files; uninstall them, then "
         "install one");
  }

  Claim choose_owner(const std::vector<Claim>& owners) const {
    const auto rank = [&](const Claim& claim) {
      const FrameworkVariant& variant = *claim.variant;
      const bool fits =
          owners.size() == 1 || !variant.kind || is_driven(*claim.distribution, variant);
      // A variant that is there with its objects, then the plain one, then any.
      const int kind_rank = variant.kind && fits ? 0 : 1;
      const int plain_rank = variant.dist == variant.framework ? 0 : 1;
      return std::pair(fits ? kind_rank : 2, plain_rank);
    };
    Claim best = owners.front();
    auto best_rank = rank(best);
    for (const Claim& claim : owners) {
      const auto claim_rank = rank(claim);
      if (claim_rank < best_rank || (claim_rank == best_rank && is_plainer(claim, best))) {
        best = claim;
        best_rank = claim_rank;
      }
    }
    return best;
  }

  static bool is_plainer(const Claim& a, const Claim& b) {
    return a.variant->dist.size() < b.variant->dist.size();
  }

  bool is_driven(const Distribution& distribution, const FrameworkVariant& variant) const {
    const FrameworkBackends found = framework_backends(root_, distribution, variant, "");
    return std::find(found.kinds.begin(), found.kinds.end(), *variant.kind) != found.kinds.end();
  }

  void warn_of_version(const Distribution& distribution) {
    if (!Version::parse(distribution.version).ok()) {
      warn(in_quotes(distribution.version) +
           " is no version by PEP 440: no requirement with a "
           "version is met by it");
    }
    if (distribution.read_from_name) {
      warn("the version is from the file name " + in_quotes(distribution.record) +
           ": a zipped egg is not opened");
    }
    const std::optional<std::string> in_files = version_in_files(root_, distribution, framework_);
    if (in_files && !same_release(*in_files, distribution.version)) {
      warn("its files say version " + *in_files + ", its metadata " + distribution.version +
           ": installed over one another, it seems");
    }
  }

  static bool same_release(const std::string& a, const std::string& b) {
    const Result<Version> left = Version::parse(a);
    const Result<Version> right = Version::parse(b);
    if (!left.ok() || !right.ok()) return a == b;
    const std::size_t length =
        std::max(left.value().parts().release.size(), right.value().parts().release.size());
    for (std::size_t i = 0; i < length; ++i) {
      if (left.value().parts().release_at(i) != right.value().parts().release_at(i)) return false;
    }
    return true;
  }

  void warn_of_hidden(const Distribution& chosen) {
    for (const Claim& claim : claims_) {
      if (claim.distribution->site == chosen.site) continue;
      warn("hides " + with_version(*claim.distribution) + " in " + claim.distribution->site + "/");
    }
  }

  const SystemRoot& root_;
  std::string_view framework_;
  std::vector<Claim> claims_;
  FrameworkBuild build_;
};

// conda builds some packages without a distribution's metadata.
void add_conda_builds(const std::vector<CondaRecord>& conda, const std::string& site,
                      std::vector<Distribution>& distributions) {
  for (const CondaRecord& record : conda) {
    const std::optional<std::string_view> framework = framework_of_conda_package(record.name);
    if (!framework) continue;
    const bool known = std::any_of(
        distributions.begin(), distributions.end(), [&](const Distribution& distribution) {
          const FrameworkVariant* variant = framework_variant(distribution.name);
          return variant != nullptr && variant->part == FrameworkPart::build &&
                 variant->framework == *framework;
        });
    if (known) continue;
    Distribution distribution;
    distribution.name = *framework;
    distribution.version = record.version;
    distribution.site = site;
    distributions.push_back(std::move(distribution));
  }
}

std::string conda_build_of(const std::vector<CondaRecord>& conda, std::string_view framework) {
  for (const CondaRecord& record : conda) {
    if (framework_of_conda_package(record.name) == framework &&
        device_tag_of_conda_build(record.build)) {
      return record.build;
    }
  }
  return "";
}

void add_kinds(FrameworkBuild& build, const FrameworkBackends& more) {
  FrameworkBackends all{build.backends, build.backend_version};
  for (const AcceleratorKind kind : more.kinds) all.add(kind, more.version);
  build.backends = all.kinds;
  build.backend_version = all.version;
}

}  // namespace

std::map<std::string, FrameworkBuild> framework_builds(
    const SystemRoot& root, const std::vector<Distribution>& distributions,
    const std::vector<CondaRecord>& conda, const std::vector<std::string>& sites) {
  std::vector<Distribution> all = distributions;
  if (!sites.empty()) add_conda_builds(conda, sites.front(), all);
  std::map<std::string_view, std::vector<Claim>> claims;
  std::map<std::string_view, FrameworkBackends> plugins;
  for (const Distribution& distribution : all) {
    const FrameworkVariant* variant = framework_variant(distribution.name);
    if (variant == nullptr || is_stub({&distribution, variant})) continue;
    if (variant->part == FrameworkPart::build) {
      claims[variant->framework].push_back({&distribution, variant});
    } else if (variant->kind) {
      plugins[variant->framework].add(*variant->kind, std::string(variant->kind_version));
    }
  }
  std::map<std::string, FrameworkBuild> builds;
  for (const auto& [framework, claimed] : claims) {
    builds[std::string(framework)] =
        Decision(root, framework, claimed).build(conda_build_of(conda, framework));
  }
  for (auto& [framework, build] : builds) {
    if (const auto plugin = plugins.find(framework); plugin != plugins.end()) {
      add_kinds(build, plugin->second);
    }
    const auto provider = builds.find(std::string(backend_provider(framework)));
    if (provider != builds.end()) {
      add_kinds(build, {provider->second.backends, provider->second.backend_version});
    }
  }
  return builds;
}

}  // namespace gpl::host
