import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { defaultBodyLimitBytes, fullPath } from "../../src/route/route.ts";
import { routes } from "../../src/routes/index.ts";
import type { Cluster } from "../support/cluster.ts";
import { sampleOf, seed } from "../support/sample.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { servedActors } from "./actors.ts";
import { type BadInput, badBodies, badIds, badQueries } from "./bad-values.ts";
import { bodyOf, queryOf } from "./bodies.ts";
import { servedKinds } from "./cells.ts";
import { type Owner, ownerOf } from "./database.ts";
import { type Makers, makersFor } from "./makers.ts";
import type { Actor } from "./model.ts";
import { type Answer, examples, inParallel, nobodys, send } from "./run.ts";
import { pathOf, type Subject, subjectOf, subjectsOfRoutes } from "./subjects.ts";
import { makeWorld, type World } from "./targets.ts";
import { namesOf, rowCounts } from "./traces.ts";

/** Share of each route's requests where suites run a sample. */
const oneIn = 5;
/** e2e/directory sends directories' rows what is wrong with them. */
const table = routes
  .filter(({ dialect }) => dialect === undefined)
  .map((row) => [`${row.method} ${row.path}`, row] as const);
const credential = { id: "x", rawId: "x", type: "public-key", response: { clientDataJSON: "e30" } };
const sessionBodies: Record<string, Record<string, unknown>> = {
  "POST /auth/login": { email: "nobody@example.com", password: "not a password of anybody" },
  "POST /auth/refresh": { refreshToken: "nothing" },
  "POST /auth/invitation": { token: "inv_nothing" },
  "POST /auth/accept-invite": { token: "inv_nothing", password: "a password for tests only" },
  "POST /auth/mfa/verify": { code: "123456" },
  "POST /auth/mfa/totp/setup": { password: "x" },
  "POST /auth/mfa/totp/enable": { code: "123456" },
  "POST /auth/mfa/totp/disable": { password: "x", code: "123456" },
  "POST /auth/device": { clientName: "c" },
  "POST /auth/device/token": { deviceCode: "dev_nothing" },
  "POST /auth/device/lookup": { userCode: "BBBB-BBBB" },
  "POST /auth/device/approve": { userCode: "BBBB-BBBB" },
  "POST /auth/device/deny": { userCode: "BBBB-BBBB" },
  "POST /auth/logout": {},
  "POST /auth/forgot-password": { email: "nobody@example.com" },
  "POST /auth/reset-password": { token: "pwr_nothing", password: "a password for tests only" },
  "POST /auth/unsubscribe": { token: "nothing" },
  "PATCH /auth/notifications": { kind: "audit_alert", mail: true },
  "POST /auth/change-password": { currentPassword: "x", newPassword: "a password for tests only" },
  "POST /auth/mfa/passkeys/register/options": { password: "x" },
  "POST /auth/mfa/passkeys/register/verify": { credential },
  "POST /auth/mfa/passkeys/authenticate/options": { mfaToken: "mfa_nothing" },
  "POST /auth/mfa/passkeys/authenticate/verify": { mfaToken: "mfa_nothing", credential },
  "PATCH /auth/mfa/passkeys/:id": { name: "Nobody's" },
  "POST /sso/exchange": { code: "nothing" },
  "POST /agents/enroll": { enrollmentKey: "x", hostname: "h", os: "linux", arch: "amd64", agentVersion: "1" },
};

let cluster: Cluster;
let owner: Owner;
let makers: Makers;
let world: World;
let system: Actor;
let partner: Actor;
let agent: Actor;
let before: Map<string, number>;
let calls = 0;
beforeAll(async () => {
  cluster = await sharedCluster();
  owner = await ownerOf(cluster);
  makers = await makersFor(cluster, owner);
  world = await makeWorld(owner, makers, servedKinds(subjectsOfRoutes(routes)));
  ({ system, partner, agent } = await servedActors(cluster, world));
  before = await rowCounts(owner, String(world.spots.own.partnerId));
}, 180_000);

afterAll(async () => {
  await makers?.pauseMade();
  await owner?.close();
  console.log(`${calls} calls with bad input`);
});

function validBody(subject: Subject, actor: Actor): Record<string, unknown> {
  const idOf = (kind: string) => world.targets.find((t) => t.kind === kind && t.relation === "own")?.id ?? "";
  const { own } = world.spots;
  const { roleIds, run } = makers;
  const ids = { deviceId: idOf("device"), keyId: idOf("api_key") };
  const { webhookUrl } = makers;
  const fixed = sessionBodies[subject.key];
  return (
    fixed ?? bodyOf(subject.key, { actor, home: own, name: `${run}-bad`, roleIds, webhookUrl, ...ids, varied: null })
  );
}

/** What is wrong with a reply that should be a refusal; null when it is one, with the error body. */
function problem({ status, body, deviation }: Answer, mayBeTaken = false): string | null {
  if (deviation) return `is not as documented: ${deviation}`;
  if (mayBeTaken && status === 200) return null;
  if (status < 400 || status >= 500) return `answered ${status}`;
  const has = (field: string) => typeof body[field] === "string" && body[field] !== "";
  return has("error") && has("code") && has("requestId") ? null : `answered ${status} without the error body`;
}

describe("bad input", () => {
  it.each(table)("is refused with a 4xx and the error body at %s", async (_key, row) => {
    const subject = subjectOf(row);
    const isAgent = subject.shape === "agent";
    const actor = isAgent ? agent : subject.needs.scopes.includes("system") ? system : partner;
    const target = isAgent ? agent.device : world.targets.find((t) => t.kind === subject.kind && t.relation === "own");
    const member = world.targets.find((t) => t.kind === "device" && t.relation === "own");
    const deliveryId = makers.deliveryOf(target?.id ?? "");
    const replayId = makers.replayOf(target?.id ?? "");
    const params: Record<string, string> = {
      id: target?.id ?? nobodys,
      deviceId: member?.id ?? "",
      deliveryId,
      replayId,
      ...examples,
    };
    const path = pathOf(subject, params);
    const named = Object.fromEntries(Object.keys(row.params?.shape ?? {}).map((name) => [name, params[name]]));
    const list = { row, params: named, query: queryOf(subject.key), caller: actor };
    // A logout takes no body and does what it is for; what it reads before is what every row reads.
    const takesBody = row.method !== "GET" && subject.key !== "POST /auth/logout";
    const inputs: BadInput[] = [
      ...(takesBody
        ? badBodies(row, row.body ? validBody(subject, actor) : {}, row.bodyLimitBytes ?? defaultBodyLimitBytes)
        : []),
      ...badQueries(row, list),
    ];
    const prefix = fullPath(row).split(":")[0] ?? "";
    const paths = prefix === fullPath(row) ? [] : badIds.map((id) => path.replace(/(.*?)[0-9a-f-]{36}/, `$1${id}`));
    const requests: (BadInput & { path: string })[] = [
      ...inputs.map((input) => {
        const query = new URLSearchParams(queryOf(subject.key)).toString();
        const text = [query, input.query].filter(Boolean).join("&");
        return { ...input, path: text === "" ? path : `${path}?${text}` };
      }),
      ...paths.map((bad) => {
        const body = row.body ? JSON.stringify(validBody(subject, actor)) : undefined;
        return { what: `id ${bad.slice(prefix.length, prefix.length + 20)}`, path: bad, ...(body ? { body } : {}) };
      }),
    ];
    const sent = sampleOf(requests, oneIn, () => [], seed && `${seed} ${subject.key}`);
    calls += sent.length;
    const wrong = await inParallel(sent, async (request) => {
      const headers = { ...actor.headers, ...request.headers };
      const call = { method: row.method, path: request.path, headers, body: request.body };
      const answer = await send(cluster, call);
      // A browser that comes back from elsewhere is sent to the sign-in page, which says why.
      if (subject.key === "GET /sso/callback" && answer.status === 302) return null;
      if (subject.key === "POST /sso/saml/acs" && answer.status === 303) return null;
      const isOther = request.code !== undefined && answer.body.code !== request.code;
      const found = isOther ? `answered ${answer.body.code}` : problem(answer, request.mayBeTaken);
      return found ? `${request.what}: ${found}` : null;
    });
    expect(wrong.filter(Boolean)).toEqual([]);
  });

  it("wrote nothing", async () => {
    expect(await rowCounts(owner, String(world.spots.own.partnerId))).toEqual(before);
    expect(await namesOf(owner, `${makers.run}-bad`)).toEqual([]);
  });
});
