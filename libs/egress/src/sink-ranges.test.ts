import { describe, expect, it } from "@jest/globals";
import { parseAddress } from "./address.ts";
import { parseClosedRanges, parseSinkRanges, type SinkType, sinkAddressCheck, sinkTypes } from "./sink-ranges.ts";

/** Addresses with the setting that alone opens each; null: none does. */
const addresses: readonly [address: string, opened: string | null][] = [
  ["93.184.216.34", "public"],
  ["2606:4700::1", "public"],
  ["10.1.2.3", "10.0.0.0/8"],
  ["10.1.2.3", "10.1.2.3/32"],
  ["10.2.0.1", "10.0.0.0/8"],
  ["172.31.0.1", "172.16.0.0/12"],
  ["192.168.7.7", "192.168.0.0/16"],
  ["100.64.0.9", "100.64.0.0/10"],
  ["fd12::5", "fd12::/16"],
  ["::ffff:10.1.2.3", "10.0.0.0/8"],
  // Never, whatever is opened.
  ["127.0.0.1", null],
  ["::1", null],
  ["0.0.0.0", null],
  ["169.254.169.254", null],
  ["100.100.100.200", null],
  ["fd00:ec2::254", null],
  ["fe80::1", null],
  ["224.0.0.1", null],
  ["255.255.255.255", null],
  ["::ffff:127.0.0.1", null],
  ["64:ff9b::10.1.2.3", null],
  ["2002:0a01:0203::1", null],
  ["::10.1.2.3", null],
  // Of the cluster itself.
  ["10.96.0.1", null],
  ["10.244.3.4", null],
];
const closed = parseClosedRanges("10.96.0.0/12,10.244.0.0/16");
const everything = ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];
const settings: readonly string[] = [
  "",
  ...everything.map((range) => `https:${range}`),
  ...sinkTypes.map((type) => everything.map((range) => `${type}:${range}`).join(",")),
  sinkTypes.flatMap((type) => everything.map((range) => `${type}:${range}`)).join(","),
  "syslog:10.1.2.3/32,s3:fd12::/16",
];

/** What a reader of the setting expects: by its text alone. */
function expected(opened: string | null, type: SinkType, setting: string): boolean {
  if (opened === "public") return true;
  if (opened === null) return false;
  const items = setting.split(",");
  const covers = everything.find((range) => range === opened || ranges[opened] === range);
  return items.includes(`${type}:${opened}`) || (covers !== undefined && items.includes(`${type}:${covers}`));
}
const ranges: Record<string, string> = { "10.1.2.3/32": "10.0.0.0/8", "fd12::/16": "fc00::/7" };

describe("addresses of sinks", () => {
  const cells = addresses.flatMap(([address, opened]) =>
    sinkTypes.flatMap((type) => settings.map((setting) => ({ address, opened, type, setting }))),
  );
  it("are permitted by address, type and setting", () => {
    const wrong = cells.filter(({ address, opened, type, setting }) => {
      const bytes = parseAddress(address);
      if (!bytes) throw new Error(`${address} is no address`);
      const isOpen = sinkAddressCheck(type, parseSinkRanges(setting), closed)(bytes);
      // 10.1.2.3 is also what the single address opens.
      const isOpened = expected(opened, type, setting) || isSingle(address, type, setting);
      return isOpen !== isOpened;
    });
    expect(cells.length).toBeGreaterThan(600);
    expect(wrong).toEqual([]);
  });

  const isSingle = (address: string, type: string, setting: string) =>
    address.endsWith("10.1.2.3") && !/^(::10|64)/.test(address) && setting.split(",").includes(`${type}:10.1.2.3/32`);

  it.each([
    "https:0.0.0.0/0",
    "https:127.0.0.0/8",
    "https:169.254.0.0/16",
    "https:10.0.0.0/7",
    "https:::/0",
    "https:64:ff9b::/96",
    "https:fe80::/10",
    "https:8.8.8.8/32",
    "webhook:10.0.0.0/8",
    "10.0.0.0/8",
    "https:10.0.0.0/33",
    "https:ten/8",
  ])("cannot be opened by %s", (setting) => {
    expect(() => parseSinkRanges(setting)).toThrow(/AUDIT_SINK_ALLOWED_CIDRS/);
  });
});
