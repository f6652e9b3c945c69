import { expect, it } from "@jest/globals";
import { clientNetwork } from "./client-network.ts";

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
  ["2001:db8:1:3::1", "2001:db8:1:3::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8::5:6:7:8:9", "2001:db8:0:5::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  [null, "unknown"],
])("counts %j as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
