/** What needs attention, as the API lists it. */
export type AttentionItem = { kind: string; record: { name: string } | null; count: number; sentence: string };
type Kind = { noun: string; tone: "bad" | "warn"; verb: string; states: string };

const kinds: Readonly<Record<string, Kind>> = {
  rollout: { noun: "Rollout of", tone: "bad", verb: "Review", states: "is halted" },
  webhook: { noun: "Webhook", tone: "bad", verb: "See deliveries", states: "is failing" },
  audit_stream: { noun: "Stream", tone: "bad", verb: "See stream", states: "is failing" },
  sso_provider: { noun: "Identity provider", tone: "bad", verb: "See provider", states: "is failing" },
  directory: { noun: "Directory", tone: "bad", verb: "See directory", states: "is failing" },
  certificate: { noun: "The certificate of", tone: "warn", verb: "Replace", states: "ends soon" },
  api_key: { noun: "API key", tone: "warn", verb: "Rotate", states: "ends soon" },
  device: { noun: "Device", tone: "warn", verb: "Decide", states: "waits for approval" },
};
const unknown: Kind = { noun: "", tone: "bad", verb: "Open", states: "needs attention" };

/** How bad it is, what to do, and where it is in words. */
export function needOf({ kind, record, count }: Omit<AttentionItem, "sentence">): {
  tone: "bad" | "warn";
  verb: string;
  title: string;
} {
  const { noun, tone, verb, states } = (Object.hasOwn(kinds, kind) ? kinds[kind] : undefined) ?? unknown;
  const title =
    record === null
      ? `${count.toLocaleString("en")} ${count === 1 ? "device waits" : "devices wait"} for approval.`
      : `${`${noun} “${record.name}”`.trim()} ${states}.`;
  return { tone, verb, title };
}

/** What comes soon, as a sentence: until when there is time, where the API's own names an end. */
export function soonSentence({ kind, record, count, sentence }: AttentionItem): string {
  const [end] = /\bends at \S+?Z/.exec(sentence) ?? [];
  if (record === null || end === undefined) return needOf({ kind, record, count }).title;
  const noun = (Object.hasOwn(kinds, kind) ? kinds[kind] : unknown)?.noun.replace(/^The c/, "C");
  return `${noun} “${record.name}” ${end}.`;
}

/** A reason as the overview says it: without its title's words, what follows of it, and earlier reasons. */
export function briefly(sentence: string): string {
  const at = /(?<=\.) [A-Z]|, the last: |: deliveries /.exec(sentence)?.index ?? sentence.length;
  const first = sentence.slice(0, at).replace(/^Halted(?: for|:) /, "");
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** The host of an address; the address itself where it is none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}
