import type { Cluster } from "../support/cluster.ts";
import { deviation } from "../support/documented.ts";
import { noteSecretsOf } from "../support/handed-out.ts";
import { bodyOf, type Ingredients, queryOf } from "./bodies.ts";
import type { Cell } from "./cells.ts";
import type { Makers } from "./makers.ts";
import { type Actor, hasAccess, type Kind, type State, type Target } from "./model.ts";
import { homeOf } from "./outcomes.ts";
import { pathOf, type Subject } from "./subjects.ts";
import type { World } from "./targets.ts";

export type Answer = {
  status: number;
  text: string;
  body: Record<string, unknown>;
  /** How the answer deviates from the OpenAPI document; null when it does not. */
  deviation: string | null;
};
export type Performed = {
  cell: Cell;
  target: Target | null;
  /** Ids of the several records that the call named, and the code that each is to be answered with. */
  several: { id: string; code: string | null }[];
  name: string;
  request: string;
  answer: Answer;
};
export type Runner = { cluster: Cluster; makers: Makers; world: World };

/** An id that no record has. */
export const nobodys = "00000000-0000-4000-8000-000000000000";

/** Calls at the same time. */
export const parallel = 8;

/** Runs `work` on each item, `parallel` at a time; results in order. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return results;
}

/** A call as any HTTP client makes it. */
export async function send(
  cluster: Cluster,
  { method, path, headers, body }: { method: string; path: string; headers: object; body?: string | undefined },
): Promise<Answer> {
  const reply = await fetch(`${cluster.url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body }),
    redirect: "manual",
  });
  const text = await reply.text();
  const isObject = text.startsWith("{");
  const { status } = reply;
  noteSecretsOf(cluster, { method, path, status, sent: body, text });
  const undocumented = await deviation(cluster, { method, path, status, headers: reply.headers, text });
  const json = isObject ? (JSON.parse(text) as Record<string, unknown>) : {};
  return { status, text, body: json, deviation: undocumented };
}

let calls = 0;

/** Of parameters that name nothing of ours. */
export const examples = {
  name: "System",
  recordId: "1",
  source: "nowhere",
  os: "linux",
  arch: "amd64",
  orgId: nobodys,
  partnerId: nobodys,
  providerId: nobodys,
};

/** Makes what the cell changes, then calls. */
export async function perform(runner: Runner, cell: Cell): Promise<Performed> {
  const { cluster, makers, world } = runner;
  const { subject, actor, varied } = cell;
  const { route, key } = subject;
  const name = `${makers.run}-cell-${calls++}`;
  const changes = cell.expected.status < 300 && route.method !== "GET";
  const named =
    varied && changes && renewed.includes(varied.kind) ? await renew(runner, cell, varied.target) : varied?.target;
  const target =
    cell.target && changes && subject.shape === "record" ? await renew(runner, cell, cell.target) : cell.target;

  const home = target && target.orgId !== null && target.state !== "deleted" ? { ...target } : homeOf(world, actor);
  const from: Ingredients = {
    actor,
    home,
    name,
    roleIds: makers.roleIds,
    deviceId: await companion(runner, subject, cell, "device", target),
    keyId: await companion(runner, subject, cell, "api_key", target),
    webhookUrl: makers.webhookUrl,
    varied,
  };
  const deliveryId = makers.deliveryOf(target?.id ?? "");
  const replayId = makers.replayOf(target?.id ?? "");
  const params: Record<string, string> = {
    id: target?.id ?? nobodys,
    webhookId: nobodys,
    deviceId: route.path.startsWith("/system-tools/devices/:deviceId") ? (target?.id ?? "") : from.deviceId,
    deliveryId,
    replayId,
    ...examples,
  };
  const query = new URLSearchParams(queryOf(key));
  let body: Record<string, unknown> | undefined;
  const isOwnSession = subject.shape === "open" || (subject.shape === "self" && route.path.startsWith("/auth/"));
  if (route.body) body = isOwnSession ? {} : bodyOf(key, from);
  if (varied && named) {
    // A webhook that is changed is a new one, and so is the delivery or replay of it that is named.
    const isRenewed = changes && target !== cell.target;
    const renewedId = isRenewed
      ? ({ delivery: deliveryId, replay: replayId } as Record<string, string>)[varied.kind]
      : null;
    if (varied.within === "params") params[varied.field] = renewedId ?? named.id;
    else if (varied.within === "query") query.set(varied.field, named.id);
    else if (cell.several) body = { ...body, change: { [varied.field]: named.id } };
    else body = { ...body, [varied.field]: varied.many ? [named.id] : named.id };
  }
  const several = await Promise.all(
    (cell.several ?? []).map(async ({ target: one, code }) => {
      const isChanged = changes && code === null && one.state === "active";
      return { id: isChanged ? (await renew(runner, cell, one)).id : one.id, code };
    }),
  );
  if (several.length > 0) body = { ...body, deviceIds: several.map(({ id }) => id) };
  if (subject.shape === "list" && route.query && "limit" in route.query.shape) query.set("limit", "100");
  // Only a disabled user can be enabled.
  if (changes && key === "POST /users/:id/enable") await disable(makers, target?.id ?? "");
  const leaving = String(named?.id ?? from.deviceId);
  if (changes && key.startsWith("DELETE /device-groups/:id/devices")) await join(makers, target?.id ?? "", leaving);
  const path = `${pathOf(subject, params)}${query.size > 0 ? `?${query}` : ""}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await send(cluster, { method: route.method, path, headers: actor.headers, body: text });
  return { cell, target, several, name, request: `${route.method} ${path} ${text ?? ""}`, answer };
}

/** Adds a device to a group, so that the call can remove it. */
async function join({ root }: Makers, groupId: string, deviceId: string): Promise<void> {
  const { status } = await root.call("POST", `/device-groups/${groupId}/devices`, { deviceIds: [deviceId] });
  if (status !== 200) throw new Error(`putting a device into a group answered ${status}`);
}

async function disable({ root }: Makers, userId: string): Promise<void> {
  const { status } = await root.call("POST", `/users/${userId}/disable`);
  if (status !== 200) throw new Error(`disabling a user answered ${status}`);
}

/** Kinds that a call changes when it names them. */
const renewed: readonly Kind[] = ["device", "api_key"];

/** Another record with the same relation: refused calls never name a record that another call changes. */
async function renew({ makers, world }: Runner, { actor, subject }: Cell, target: Target): Promise<Target> {
  const take = (from: Target[]): Target => {
    const at = from.findIndex(({ kind }) => kind === target.kind);
    if (at < 0) throw new Error(`no spare ${target.kind} is left: make more of them in targets.ts`);
    return from.splice(at, 1)[0] as Target;
  };
  if (target.state === "orphaned") return take(world.spares);
  // A new record is not among the organizations or sites that a user was granted.
  const isListed = target.kind === "organization" && actor.scope === "partner" && actor.orgIds !== "all";
  if (isListed || (target.kind === "site" && actor.siteIds !== null)) return take(world.granted);
  if (target.state !== "active") return target;
  // No other user's organization is their own.
  if (target.kind === "organization" && actor.scope === "organization") return target;
  return /^POST \/devices\/:id\/(approve|reject)$/.test(subject.key)
    ? makers.makeClone(target)
    : makers.make(target.kind, target);
}

/**
 * The id of a device or key that a call names besides its record: of the same organization, and new when the call
 * changes it.
 */
async function companion(
  runner: Runner,
  subject: Subject,
  cell: Cell,
  kind: Kind,
  target: Target | null,
): Promise<string> {
  const { world } = runner;
  const isNamed = subject.references.some((reference) => reference.kind === kind && reference.within !== "query");
  if (!isNamed || target === null) return "";
  const sameRelation = world.targets.find(
    (t) => t.kind === kind && t.relation === target.relation && t.state !== "malformed",
  );
  const standIn = sameRelation ?? world.targets.find((t) => t.kind === kind && t.relation === "own");
  if (!standIn) throw new Error(`${subject.key} names a record of kind ${kind}, and there is none`);
  return cell.expected.status < 300 ? (await renew(runner, cell, standIn)).id : standIn.id;
}

/** Our error body from a Status of OTLP, whose message is `code: text (request id)`. */
function otlpError({ message }: Record<string, unknown>): Record<string, unknown> {
  const [, code, error, requestId] = /^(\w+): (.+) \(request (.+)\)$/s.exec(String(message)) ?? [];
  return { code, error, requestId };
}

const lists = ["data", "entries", "organizationOrder", "Resources"];

/** What is wrong with an answer, as sentences; none when it is as the model expects. */
export function complaints(world: World, { cell, several, answer }: Performed): string[] {
  const found: string[] = [];
  const { expected, actor, subject } = cell;
  const { status, code } = expected;
  // Errors of SCIM have no code.
  const isScim = subject.needs.auth === "directory";
  const body = subject.route.dialect === "otlp" ? otlpError(answer.body) : answer.body;
  const got = status < 400 || isScim ? answer.status : `${answer.status} ${body.code}`;
  const want = status < 400 || isScim ? status : `${status} ${code}`;
  if (got !== want) found.push(`answered ${got} instead of ${want}`);
  const hasError = isScim ? body.detail : body.error && body.requestId;
  if (answer.status >= 400 && !hasError) found.push("has no error body");
  if (answer.deviation !== null) found.push(`is not as documented: ${answer.deviation}`);
  const hidden = hiddenFrom(world, actor, subject.kind).filter((marker) => answer.text.includes(marker));
  if (hidden.length > 0) found.push(`shows ${hidden.join(", ")}`);
  if (several.length > 0 && answer.status === 200) {
    const results = answer.body.results as { id: string; code: string | null }[];
    const codes = new Map(results.map(({ id, code }) => [id, code]));
    if (results.length !== several.length) found.push(`answers for ${results.length} instead of ${several.length}`);
    for (const { id, code } of several) {
      if (codes.get(id) !== code) found.push(`says ${codes.get(id)} of ${labelOf(world, id)} instead of ${code}`);
    }
  }
  const counts = answer.body.byStatus as { count: number }[] | undefined;
  if (cell.listed && counts) {
    const counted = counts.reduce((sum, { count }) => sum + count, 0);
    if (counted !== cell.listed.size) found.push(`counts ${counted} instead of ${cell.listed.size}`);
  } else if (cell.listed && answer.status === 200) {
    const rows = lists.map((name) => answer.body[name]).find(Array.isArray) as ({ id: string } | string)[];
    const ids = rows.map((row) => (typeof row === "string" ? row : row.id));
    const extra = ids.filter((id) => !cell.listed?.has(id));
    const absent = [...cell.listed].filter((id) => !ids.includes(id));
    if (extra.length > 0) found.push(`lists what it should not: ${extra.map((id) => labelOf(world, id)).join(", ")}`);
    if (absent.length > 0) found.push(`does not list: ${absent.map((id) => labelOf(world, id)).join(", ")}`);
  }
  return found;
}

const invisible: readonly State[] = ["deleted"];

const hiddenTexts = new WeakMap<World, Map<string, string[]>>();

/**
 * Texts of the records that an actor must never see. A trail names every actor in it, of whichever tenant. The same in
 * each of an actor's thousand answers, so it is worked out once.
 */
function hiddenFrom(world: World, actor: Actor, kind: Kind | null): string[] {
  let cached = hiddenTexts.get(world);
  if (cached === undefined) {
    cached = new Map();
    hiddenTexts.set(world, cached);
  }
  const key = `${actor.name} ${kind}`;
  const texts = cached.get(key) ?? hiddenTextsOf(world, actor, kind);
  cached.set(key, texts);
  return texts;
}

function hiddenTextsOf(world: World, actor: Actor, kind: Kind | null): string[] {
  const seenAs = (t: Target): Target => {
    if (kind === "audit_log" && t.kind !== "partner") return { ...t, kind: "audit_log" };
    // A user of a directory is a user to everyone else.
    return t.kind === "scim_user" && actor.as !== "directory" ? { ...t, kind: "user" } : t;
  };
  const isHidden = (t: Target) => (invisible.includes(t.state) && kind !== "audit_log") || !hasAccess(actor, seenAs(t));
  return [...world.targets, ...world.listed]
    .filter((t) => kind !== "audit_log" || t.kind !== "user")
    .filter((t) => t.marker !== null && actor.scope !== "system" && isHidden(t))
    .map((t) => String(t.marker));
}

const labelOf = (world: World, id: string) => world.listed.find((t) => t.id === id)?.marker ?? id;
