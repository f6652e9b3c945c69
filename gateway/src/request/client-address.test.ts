import { describe, expect, it } from "@jest/globals";
import { canonicalAddress, clientAddressRule, privateCidrs } from "./client-address.ts";
import { createHeaderReader } from "./headers.ts";

const trusting = clientAddressRule({ trustHeaders: true, trustedCidrs: privateCidrs });
const blind = clientAddressRule({ trustHeaders: false, trustedCidrs: privateCidrs });
const read = createHeaderReader("x-edge-address");
const from = (...lines: string[]) => read(["Host", "a", ...lines.flatMap((line) => line.split(/: ?(.*)/, 2))]);

describe("canonicalAddress", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["::1", "::1"],
    ["fe80::1%eth0", null],
    ["192.0.2.01", null],
    ["0300.0.2.1", null],
    ["3221225985", null],
    ["192.0.2.1:80", null],
    ["[::1]", null],
    ["192.0.2.1 ", null],
    ["", null],
    ["unknown", null],
  ])("read from %j is %j", (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });
});

describe("the client's address", () => {
  it.each([
    ["the peer without headers", "203.0.113.9", [], "203.0.113.9"],
    ["the peer when it is no proxy of ours", "203.0.113.9", ["X-Forwarded-For: 192.0.2.1"], "203.0.113.9"],
    ["the forwarded one behind a proxy", "10.0.0.1", ["X-Forwarded-For: 192.0.2.1"], "192.0.2.1"],
    ["behind a mapped peer too", "::ffff:10.0.0.1", ["X-Forwarded-For: 192.0.2.1"], "192.0.2.1"],
    ["the right-most untrusted hop", "10.0.0.1", ["X-Forwarded-For: 198.51.100.7, 192.0.2.1, 10.0.0.2"], "192.0.2.1"],
    ["the left-most hop when all are ours", "10.0.0.1", ["X-Forwarded-For: 10.0.0.3, 10.0.0.2"], "10.0.0.3"],
    ["the last hop before rubbish", "10.0.0.1", ["X-Forwarded-For: 192.0.2.1, rubbish, 10.0.0.2"], "10.0.0.2"],
    ["the peer when the last hop is rubbish", "10.0.0.1", ["X-Forwarded-For: 192.0.2.1:80"], "10.0.0.1"],
    [
      "over several header lines",
      "10.0.0.1",
      ["X-Forwarded-For: 198.51.100.7", "X-Forwarded-For: 192.0.2.1"],
      "192.0.2.1",
    ],
    ["a mapped hop as IPv4", "10.0.0.1", ["X-Forwarded-For: ::ffff:192.0.2.1"], "192.0.2.1"],
    ["X-Real-IP when nothing better is there", "10.0.0.1", ["X-Real-IP: 192.0.2.4"], "192.0.2.4"],
    [
      "X-Forwarded-For before X-Real-IP",
      "10.0.0.1",
      ["X-Real-IP: 192.0.2.4", "X-Forwarded-For: 192.0.2.1"],
      "192.0.2.1",
    ],
    [
      "the edge's header before all",
      "::1",
      ["X-Edge-Address: 2001:DB8::7", "X-Forwarded-For: 192.0.2.1"],
      "2001:db8::7",
    ],
    ["not an edge's header sent twice", "::1", ["X-Edge-Address: 192.0.2.7", "X-Edge-Address: 192.0.2.8"], "::1"],
    ["not a rubbish X-Real-IP", "10.0.0.1", ["X-Real-IP: localhost"], "10.0.0.1"],
  ])("is %s", (_what, peer, lines, expected) => {
    expect(trusting(peer, from(...lines))).toBe(expected);
  });

  it("is the peer, whatever the headers contain, while they are not trusted", () => {
    expect(blind("10.0.0.1", from("X-Forwarded-For: 192.0.2.1", "X-Edge-Address: 192.0.2.2"))).toBe("10.0.0.1");
    expect(blind("fe80::1%eth0", from())).toBe("fe80::1");
    expect(blind(undefined, from())).toBeNull();
  });

  it("refuses settings that are not a CIDR block", () => {
    for (const cidr of ["10.0.0.0", "10.0.0.0/33", "::/129", "a/8", "10.0.0.0/8x"]) {
      expect(() => clientAddressRule({ trustHeaders: true, trustedCidrs: [cidr] })).toThrow(cidr);
    }
  });
});
