import { counted } from "./counted.ts";
import { waiting } from "./failure-sentence.ts";
import type { Tone } from "./tone.ts";

type Service = {
  service: string;
  status: string;
  checks: Readonly<Record<string, string>>;
  outbox: { waiting: number; oldestSeconds: number } | null;
  deadLetters: number | null;
  deliveries: { due: number; oldestDueSeconds: number } | null;
};
type Platform = {
  services: readonly Service[];
  differentSettings: readonly { setting: string; values: Readonly<Record<string, string>> }[];
};
export type PlatformNeed = {
  tone: Extract<Tone, "warn" | "bad">;
  title: string;
  text: string;
  /** The page that says more of it; null where this one is all there is. */
  page: "/webhooks" | "/releases" | null;
};

/** Seconds that messages and deliveries wait before it is worth a look: they are sent again within less. */
const waitsLongSeconds = 60;

/** Whether a check of a service found all it needs; the words of any other finding say what is missing. */
export const isFine = (found: string): boolean => found === "ok" || found.startsWith("synchronous standby: ");

const names: Readonly<Record<string, string>> = { postgresql: "PostgreSQL", nats: "NATS" };

/** The name of a check for its readers. */
export const checkName = (check: string): string => names[check] ?? `${check.charAt(0).toUpperCase()}${check.slice(1)}`;

/** How many of these wait, and how long the oldest has. */
export const waitingWords = (count: number, oldestSeconds: number, plural: string): string =>
  `${counted(count, plural)}, the oldest for ${oldestSeconds < 1 ? "less than a second" : waiting(oldestSeconds)}`;

/** What of the platform needs a look, the worst first; empty while all is well. */
export function platformNeeds({ services, differentSettings }: Platform): PlatformNeed[] {
  const down = services.filter(({ status }) => status !== "ok");
  const deadLetterCount = services.reduce((sum, { deadLetters }) => sum + (deadLetters ?? 0), 0);
  return [
    ...down.map(({ service, status }) => need("bad", `${service} is ${status}.`, "Its own log says why.")),
    ...(deadLetterCount > 0
      ? [
          need(
            "bad",
            `${counted(deadLetterCount, "dead letters")}.`,
            "Nothing could send or process them. Logs say why.",
          ),
        ]
      : []),
    ...services.flatMap(({ service, outbox }) =>
      outbox && waitsLong(outbox.oldestSeconds)
        ? need(
            "bad",
            `Messages of ${service} wait.`,
            `${waitingWords(outbox.waiting, outbox.oldestSeconds, "messages")}.`,
          )
        : [],
    ),
    ...services.flatMap(({ deliveries }) =>
      deliveries && waitsLong(deliveries.oldestDueSeconds)
        ? need(
            "warn",
            `${counted(deliveries.due, "webhook deliveries")} due.`,
            `The oldest has waited ${waiting(deliveries.oldestDueSeconds)}.`,
            "/webhooks",
          )
        : [],
    ),
    ...missing(services),
    ...differentSettings.map(({ setting, values }) =>
      need("warn", `${setting} differs.`, `It must be the same everywhere: ${listed(values)}.`),
    ),
  ];
}

const need = (
  tone: PlatformNeed["tone"],
  title: string,
  text: string,
  page: PlatformNeed["page"] = null,
): PlatformNeed => ({ tone, title, text, page });
const listed = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([process, value]) => `${process} has ${value}`)
    .join(", ");

/** The checks that found the same missing in every service that answers: a service stands out by its others. */
export function sharedChecks(services: readonly Pick<Service, "checks">[]): string[] {
  const [first, ...others] = services.filter(({ checks }) => Object.keys(checks).length > 0);
  if (first === undefined || others.length === 0) return [];
  return Object.entries(first.checks)
    .filter(([name, found]) => !isFine(found) && others.every(({ checks }) => checks[name] === found))
    .map(([name]) => name);
}

/** Whether messages or deliveries wait so long that they need a look. */
export const waitsLong = (oldestSeconds: number): boolean => oldestSeconds >= waitsLongSeconds;

/** What checks miss: services that miss the same are one sentence. */
function missing(services: readonly Service[]): PlatformNeed[] {
  const byFinding = new Map<string, { name: string; found: string; of: string[] }>();
  for (const { service, checks } of services) {
    for (const [name, found] of Object.entries(checks)) {
      if (isFine(found)) continue;
      const same = byFinding.get(`${name} ${found}`) ?? { name, found, of: [] };
      same.of.push(service);
      byFinding.set(`${name} ${found}`, same);
    }
  }
  return [...byFinding.values()].map(({ name, found, of }) => {
    const by = `Found by ${of.length === services.length ? "all services" : of.join(", ")}.`;
    const remedy = remedies.find(([pattern]) => pattern.test(found));
    return remedy
      ? need("warn", `${checkName(name)}: ${found}.`, `${remedy[1]} ${by}`, remedy[2])
      : need("warn", `${checkName(name)}: ${found}.`, by);
  });
}

/** Findings of the services' checks, each with what it risks and ends it, and the page that it is about. */
const remedies: readonly (readonly [finding: RegExp, says: string, page: PlatformNeed["page"]])[] = [
  [/^no synchronous standby/, "A failover may lose transactions: name one there.", null],
  [/^synchronous_commit is/, "A failover may lose transactions: set it to on.", null],
  [/^unsigned releases/, "Devices install what no key has signed: set RELEASE_MANIFEST_KEYS.", "/releases"],
];
