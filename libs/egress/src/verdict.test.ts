import { describe, expect, it } from "@jest/globals";
import { addressText, parseAddress } from "./address.ts";
import { validateUrl } from "./validate-url.ts";
import { verdict } from "./verdict.ts";

// First and last address of every special IPv4 range, written down apart from the code's own table.
const special4: [first: string, last: string][] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
];

const special6: [first: string, last: string][] = [
  ["::", "::"],
  ["::1", "::1"],
  ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  ["100::", "100::ffff:ffff:ffff:ffff"],
  ["2001:0:a00:1::", "2001:0:a00:1:ffff:ffff:ffff:ffff"],
  ["2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"],
  ["2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fd00:ec2::254", "fd00:ec2::254"],
  ["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

const bytesOf = (text: string) => {
  const bytes = parseAddress(text);
  if (!bytes) throw new Error(`not an address: ${text}`);
  return bytes;
};
const numberOf = (text: string) => text.split(".").reduce((n, part) => n * 256 + Number(part), 0);
const dotted = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join(".");
const hex = (n: number, digits = 0) => n.toString(16).padStart(digits, "0");
const isSpecial = (n: number) => special4.some(([first, last]) => n >= numberOf(first) && n <= numberOf(last));

/** One IPv4 address as every notation that some parser somewhere reads. */
function notations(n: number): string[] {
  const parts = dotted(n).split(".").map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const text = dotted(n);
  const low = [hex(n >>> 16, 4), hex(n % 65_536, 4)].join(":");
  return [
    text,
    `${text}.`,
    String(n),
    `0x${hex(n, 8)}`,
    `0X${hex(n, 8).toUpperCase()}`,
    `0${n.toString(8)}`,
    parts.map((part) => `0${part.toString(8)}`).join("."),
    parts.map((part) => `0x${hex(part)}`).join("."),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${b * 65_536 + c * 256 + d}`,
    `0x${hex(a)}.0${b.toString(8)}.${c * 256 + d}`,
    text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    text.replaceAll(".", "\u3002"),
    text.replace(/\d/g, (digit) => `%3${digit}`),
    `[::ffff:${text}]`,
    `[::FFFF:${low}]`,
    `[0:0:0:0:0:ffff:${low}]`,
    `[::${text}]`,
    `[64:ff9b::${text}]`,
    `[64:ff9b::${low}]`,
    `[2002:${low}::1]`,
    `user:password@${text}`,
    `example.com@${text}`,
    `example.com%40@${text}`,
  ];
}

const outcome = (host: string) => {
  try {
    validateUrl(`https://${host}/path`);
    return "passes";
  } catch (error) {
    return (error as { reason?: string }).reason ?? "other";
  }
};

describe("an address of a special range", () => {
  it.each(special4)("is refused in every notation: %s to %s", (first, last) => {
    const [from, to] = [numberOf(first), numberOf(last)];
    for (const n of [from, Math.floor((from + to) / 2), to]) {
      for (const host of notations(n)) expect([host, outcome(host)]).toEqual([host, "address_not_public"]);
    }
  });

  it.each(special4)("has public neighbours that pass in every notation: %s to %s", (first, last) => {
    const edges = [numberOf(first) - 1, numberOf(last) + 1].filter((n) => n >= 0 && n < 2 ** 32 && !isSpecial(n));
    for (const n of edges) {
      for (const host of notations(n)) expect([host, outcome(host)]).toEqual([host, "passes"]);
    }
  });

  it.each(special6)("is refused in IPv6: %s to %s", (first, last) => {
    for (const text of [first, last]) {
      expect([text, verdict(bytesOf(text)).public]).toEqual([text, false]);
      expect(outcome(`[${text}]`)).toBe("address_not_public");
    }
  });

  it("has public IPv6 neighbours that pass", () => {
    const edges = ["2000::", "2001:200::", "2001:db7:ffff::1", "2001:db9::", "2003::1", "2606:4700::1111"];
    for (const text of [...edges, "3ffe:ffff::1", "3fff:1000::", "2620:4f:8000::1"]) {
      expect([text, verdict(bytesOf(text)).public]).toEqual([text, true]);
    }
  });

  it("is found in Teredo addresses, both in the server and in the inverted client", () => {
    const teredo = (server: string, client: string) => {
      const bytes = bytesOf("2001::");
      bytes.set(server.split(".").map(Number), 4);
      bytes.set(
        client.split(".").map((part) => Number(part) ^ 0xff),
        12,
      );
      return verdict(bytes).public;
    };
    expect([teredo("8.8.8.8", "1.1.1.1"), teredo("10.0.0.1", "1.1.1.1"), teredo("8.8.8.8", "127.0.0.1")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("is read back from its bytes as it was written", () => {
    expect(addressText(bytesOf("203.0.113.9"))).toBe("203.0.113.9");
    expect(addressText(bytesOf("2001:db8::1:0:5"))).toBe("2001:db8:0:0:0:1:0:5");
    expect([parseAddress("fe80::1%eth0"), parseAddress("1.2.3"), parseAddress("x")]).toEqual([null, null, null]);
  });
});

describe("a URL", () => {
  it.each([
    ["http://example.com/", "not_https"],
    ["ftp://example.com/", "not_https"],
    ["file:///etc/passwd", "not_https"],
    ["https:///", "not_a_url"],
    ["example.com", "not_a_url"],
    ["https://exa\tmple.com/", "not_a_url"],
    ["https://example.com\\@10.0.0.1/", "not_a_url"],
    [" https://example.com/", "not_a_url"],
    [`https://example.com/${"x".repeat(2_048)}`, "too_long"],
    ["https://localhost/", "hostname_not_allowed"],
    ["https://LOCALHOST./", "hostname_not_allowed"],
    ["https://a.localhost:8443/", "hostname_not_allowed"],
    ["https://printer.local/", "hostname_not_allowed"],
    ["https://printer.local./", "hostname_not_allowed"],
    ["https://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/", "hostname_not_allowed"],
    ["https://[::1]/", "address_not_public"],
  ])("%s is refused as %s", (url, reason) => {
    expect(() => validateUrl(url)).toThrow(expect.objectContaining({ reason }) as unknown as Error);
  });

  it.each([
    "https://example.com/hook?x=1",
    "https://u:p@example.com:8443/",
    "https://localhost.example.com/",
    "https://8.8.8.8/",
  ])("%s passes", (url) => {
    expect(validateUrl(url).url.protocol).toBe("https:");
  });
});
