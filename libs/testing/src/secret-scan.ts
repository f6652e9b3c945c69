import { createHash } from "node:crypto";

export type Secret = { name: string; value: string | Buffer };

export type Leak = { name: string; form: string; at: number };

export type SecretScanner = {
  add(secret: Secret): void;
  /** The first position of each secret and form that these bytes hold, at most 20. */
  find(bytes: Buffer): Leak[];
};

type Needle = { name: string; form: string; bytes: Buffer };

/** Shorter ones would be found by chance. */
const minBytes = 8;
const maxLeaks = 20;

/**
 * Searches for secrets as they are, in JSON, in a URL, in hex, in Base64 (at any offset, both alphabets) and, with
 * `digests`, for their SHA-256 in hex and Base64. One pass over the bytes, however many secrets there are.
 */
export function secretScanner(options: { digests: boolean }): SecretScanner {
  const byStart = new Map<number, Needle[]>();
  // One bit per hash of four bytes: nearly every position of a text is passed over by it.
  const starts = new Uint8Array(1 << 17);
  const seen = new Set<string>();
  const slotOf = (start: number) => Math.imul(start, 0x9e3779b1) >>> 12;

  const put = (name: string, form: string, bytes: Buffer) => {
    if (bytes.length < minBytes) return;
    const start = bytes.readInt32LE(0);
    const slot = slotOf(start);
    starts[slot >> 3] = (starts[slot >> 3] ?? 0) | (1 << (slot & 7));
    const others = byStart.get(start);
    if (others) others.push({ name, form, bytes });
    else byStart.set(start, [{ name, form, bytes }]);
  };

  return {
    add({ name, value }) {
      const plain = Buffer.from(value as string);
      const hex = plain.toString("hex");
      if (plain.length < minBytes || seen.has(hex)) return;
      seen.add(hex);
      for (const [form, bytes] of formsOf(plain, "")) put(name, form, bytes);
      if (typeof value === "string") for (const [form, text] of escaped(value)) put(name, form, Buffer.from(text));
      if (typeof value === "string" && /^(?:[0-9a-f]{2}){16,}$/.test(value)) {
        for (const [form, bytes] of formsOf(Buffer.from(value, "hex"), "decoded ")) put(name, form, bytes);
      }
      if (!options.digests) return;
      const digest = createHash("sha256").update(plain).digest();
      for (const [form, bytes] of formsOf(digest, "SHA-256 ")) put(name, form, bytes);
    },
    find(bytes) {
      const leaks: Leak[] = [];
      const reported = new Set<string>();
      const last = bytes.length - minBytes;
      if (last < 0) return leaks;
      let start = bytes.readInt32LE(0);
      for (let at = 0; at <= last; at++) {
        if (at > 0) start = (start >>> 8) | ((bytes[at + 3] as number) << 24);
        const slot = slotOf(start);
        if (((starts[slot >> 3] as number) & (1 << (slot & 7))) === 0) continue;
        for (const needle of byStart.get(start) ?? []) {
          if (
            bytes.compare(
              needle.bytes,
              0,
              needle.bytes.length,
              at,
              Math.min(at + needle.bytes.length, bytes.length),
            ) !== 0
          ) {
            continue;
          }
          const { name, form } = needle;
          const kind = `${name} ${form}`;
          if (reported.has(kind)) continue;
          reported.add(kind);
          leaks.push({ name, form, at });
          if (leaks.length === maxLeaks) return leaks;
        }
      }
      return leaks;
    },
  };
}

/** The forms of a text in which some of its characters are escaped; none where that changes nothing. */
function escaped(value: string): [string, string][] {
  const form = new URLSearchParams([["", value]]).toString().slice(1);
  const forms: [string, string][] = [
    ["in JSON", JSON.stringify(value).slice(1, -1)],
    ["in a URL", form.replaceAll("+", "%20")],
    ["in a form", form],
  ];
  return forms.filter(([, text], at) => text !== value && forms.findIndex((other) => other[1] === text) === at);
}

function formsOf(plain: Buffer, what: string): [string, Buffer][] {
  const hex = plain.toString("hex");
  const forms: [string, Buffer][] = [
    [`${what}as it is`, plain],
    [`${what}hex`, Buffer.from(hex)],
    [`${what}HEX`, Buffer.from(hex.toUpperCase())],
  ];
  for (const alphabet of ["base64", "base64url"] as const) {
    // Inside a longer text it begins at one of three offsets; its first and last characters mix with the neighbours'.
    for (const offset of [0, 1, 2]) {
      const text = Buffer.concat([Buffer.alloc(offset), plain])
        .toString(alphabet)
        .replace(/=+$/, "");
      const whole = text.slice(offset === 0 ? 0 : offset + 1, (offset + plain.length) % 3 === 0 ? undefined : -1);
      forms.push([`${what}${alphabet}`, Buffer.from(whole)]);
    }
  }
  return forms;
}
