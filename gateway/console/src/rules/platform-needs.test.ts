import { expect, it } from "@jest/globals";
import { type Database, replicationOf } from "@muster/db";
import { checkName, isFine, platformNeeds, sharedChecks, waitingWords } from "./platform-needs.ts";

const fine = { postgresql: "ok", replication: "synchronous standby: db-2", nats: "ok" };
const service = (change: object = {}) => ({
  service: "identity",
  status: "ok",
  checks: fine,
  outbox: { waiting: 0, oldestSeconds: 0 },
  deadLetters: 0,
  deliveries: null,
  ...change,
});
const needs = (services: ReturnType<typeof service>[], differentSettings: { setting: string; values: object }[] = []) =>
  platformNeeds({ services, differentSettings: differentSettings as never }).map(
    ({ tone, title, text }) => `${tone} ${title} ${text}`,
  );

it("nothing needs a look while services have what they need, and what waits is soon sent", () => {
  const waits = { outbox: { waiting: 3, oldestSeconds: 59 }, deliveries: { due: 9, oldestDueSeconds: 59 } };
  expect(needs([service(), service({ service: "webhook-dispatcher", ...waits })])).toEqual([]);
});

it.each<[object, string]>([
  [
    { status: "unavailable", checks: {}, outbox: null, deadLetters: null },
    "bad identity is unavailable. Its own log says why.",
  ],
  [{ deadLetters: 1 }, "bad 1 dead letter. Nothing could send or process them. Logs say why."],
  [
    { outbox: { waiting: 2, oldestSeconds: 60 } },
    "bad Messages of identity wait. 2 messages, the oldest for 60 seconds.",
  ],
  [
    { deliveries: { due: 110, oldestDueSeconds: 300 } },
    "warn 110 webhook deliveries due. The oldest has waited 5 minutes.",
  ],
])("%j needs a look", (change, sentence) => {
  expect(needs([service(change), service({ service: "audit" })])).toEqual([sentence]);
});

it("a finding that services share is one sentence", () => {
  const checks = { ...fine, replication: "timed out" };
  expect(needs([service({ checks }), service({ service: "audit", checks })])).toEqual([
    "warn Replication: timed out. Found by all services.",
  ]);
  expect(needs([service({ checks }), service({ service: "audit" })])).toEqual([
    "warn Replication: timed out. Found by identity.",
  ]);
});

it.each([
  [{ replication: "no synchronous standby (…)" }, "A failover may lose transactions: name one there.", null],
  [{ replication: "synchronous_commit is local: …" }, "A failover may lose transactions: set it to on.", null],
  [{ releases: "unsigned releases are offered" }, "Devices install what no key has signed: set", "/releases"],
])("a finding %j says what ends it", (checks, says, page) => {
  const [need] = platformNeeds({ services: [service({ checks: { ...fine, ...checks } })], differentSettings: [] });
  expect(need).toMatchObject({ text: expect.stringContaining(says), page });
});

it("deliveries that wait lead to the webhooks", () => {
  const late = { deliveries: { due: 2, oldestDueSeconds: 300 }, deadLetters: 1 };
  expect(platformNeeds({ services: [service(late)], differentSettings: [] }).map(({ page }) => page)).toEqual([
    null,
    "/webhooks",
  ]);
});

it("a check is shared that found the same missing in every service", () => {
  const alone = { ...fine, replication: "no synchronous standby" };
  const both = { ...alone, releases: "unsigned releases are offered" };
  expect(sharedChecks([service({ checks: alone }), service({ checks: both })])).toEqual(["replication"]);
  expect(sharedChecks([service({ checks: alone }), service({ checks: {} }), service({ checks: alone })])).toEqual([
    "replication",
  ]);
  expect(sharedChecks([service({ checks: alone }), service()])).toEqual([]);
  expect(sharedChecks([service({ checks: alone }), service({ checks: { replication: "timed out" } })])).toEqual([]);
  expect(sharedChecks([service({ checks: alone })])).toEqual([]);
});

it("settings that differ come last, after what is worse", () => {
  const different = { setting: "EVENT_RETENTION_DAYS", values: { audit: "30", gateway: "90" } };
  expect(needs([service({ deadLetters: 2 })], [different])).toEqual([
    expect.stringMatching(/^bad 2 dead letters/),
    "warn EVENT_RETENTION_DAYS differs. It must be the same everywhere: audit has 30, gateway has 90.",
  ]);
});

it("what waits is a number with its age, and a check has a name", () => {
  expect(["postgresql", "nats", "replication"].map(checkName)).toEqual(["PostgreSQL", "NATS", "Replication"]);
  expect(waitingWords(1, 0.5, "deliveries")).toBe("1 delivery, the oldest for less than a second");
  expect(["ok", "timed out"].map(isFine)).toEqual([true, false]);
});

it.each([
  ["on", "db-2"],
  ["remote_apply", "*"],
  ["local", "db-2"],
  ["on", ""],
])("replication is as fine as services find it: synchronous_commit %s, standbys %j", async (commit, standbys) => {
  const database = { name: "identity", read: async () => [{ commit, standbys }] } as unknown as Database;
  const { isSynchronous, found } = await replicationOf(database);
  expect(isFine(found)).toBe(isSynchronous);
});
