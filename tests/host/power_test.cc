#include "gpl/host/power.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "temporary_folder.h"

using gpl::host::SystemRoot;

namespace {

const std::string head =
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";

std::string route(const std::string& interface, const std::string& metric,
                  const std::string& destination = "00000000", const std::string& flags = "0003") {
  return interface + "\t" + destination + "\t010200C0\t" + flags + "\t0\t0\t" + metric +
         "\t00000000\t0\t0\t0\n";
}

void make_radio(const TemporaryFolder& root, const std::string& interface,
                const std::string& mark = "wireless") {
  std::filesystem::create_directories(root / "sys/class/net/" + interface + "/" + mark);
}

}  // namespace

TEST_CASE("a machine without power supplies has no battery") {
  const TemporaryFolder root;
  CHECK_FALSE(gpl::host::has_battery(SystemRoot(root.path())));
}

TEST_CASE("mains and a mouse's battery make no laptop") {
  const TemporaryFolder root;
  root.write("sys/class/power_supply/AC/type", "Mains\n");
  root.write("sys/class/power_supply/hidpp_battery_0/type", "Battery\n");
  root.write("sys/class/power_supply/hidpp_battery_0/scope", "Device\n");
  CHECK_FALSE(gpl::host::has_battery(SystemRoot(root.path())));
}

TEST_CASE("a battery of the machine's own makes a laptop, plugged in or not") {
  const TemporaryFolder root;
  root.write("sys/class/power_supply/AC/type", "Mains\n");
  root.write("sys/class/power_supply/BAT0/type", "Battery\n");
  CHECK(gpl::host::has_battery(SystemRoot(root.path())));
  root.write("sys/class/power_supply/BAT0/scope", "System\n");
  CHECK(gpl::host::has_battery(SystemRoot(root.path())));
}

TEST_CASE("a machine without a default route is not wireless") {
  const TemporaryFolder root;
  make_radio(root, "wlan0");
  CHECK_FALSE(gpl::host::is_wireless(SystemRoot(root.path())));
  root.write("proc/net/route", head + route("wlan0", "0", "000200C0"));
  CHECK_FALSE(gpl::host::is_wireless(SystemRoot(root.path())));
}

TEST_CASE("the default route of lowest metric counts") {
  const TemporaryFolder root;
  make_radio(root, "wlan0");
  std::filesystem::create_directories(root / "sys/class/net/eth0");
  root.write("proc/net/route", head + route("wlan0", "600") + route("eth0", "100"));
  CHECK_FALSE(gpl::host::is_wireless(SystemRoot(root.path())));
  root.write("proc/net/route", head + route("wlan0", "50") + route("eth0", "100"));
  CHECK(gpl::host::is_wireless(SystemRoot(root.path())));
}

TEST_CASE("a default route that is down does not count") {
  const TemporaryFolder root;
  make_radio(root, "wlan0", "phy80211");
  root.write("proc/net/route",
             head + route("wlan0", "600") + route("eth0", "100", "00000000", "2"));
  CHECK(gpl::host::is_wireless(SystemRoot(root.path())));
}

TEST_CASE("where there is no IPv4, the default route of IPv6 counts") {
  const TemporaryFolder root;
  make_radio(root, "wlan0");
  const std::string zero(32, '0');
  root.write("proc/net/ipv6_route", zero + " 00 " + zero +
                                        " 00 fe800000000000000000000000000001 00000400 00000001 "
                                        "00000000 00000003    wlan0\n" +
                                        zero + " 00 " + zero + " 00 " + zero +
                                        " ffffffff 00000001 00000000 00200200 lo\n");
  CHECK(gpl::host::is_wireless(SystemRoot(root.path())));
}

TEST_CASE("a table of routes that makes no sense says nothing") {
  const TemporaryFolder root;
  root.write("proc/net/route", "x\n\n" + std::string(100, '\t') + route("../..", "0"));
  CHECK_FALSE(gpl::host::is_wireless(SystemRoot(root.path())));
}
