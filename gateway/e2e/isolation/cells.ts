import { type Actor, exists, hasAccess, type Kind, type Outcome, type Target, turnedAway } from "./model.ts";
import {
  type Call,
  closedTo,
  lackingContext,
  naming,
  onNothing,
  onOneself,
  onOwnDevice,
  onRecord,
  successOf,
} from "./outcomes.ts";
import type { Reference, Subject } from "./subjects.ts";
import type { World } from "./targets.ts";

/** One call: its actor, its subject, the records it names, and the outcome that the model expects. */
export type Cell = Call & {
  varied: (Reference & { target: Target }) | null;
  /** What a call for several records names, and the code that each is answered with; null where it is done. */
  several: readonly { target: Target; code: string | null }[] | null;
  expected: Outcome;
  /** Ids that a list answers with, exactly; null when others share the list. */
  listed: ReadonlySet<string> | null;
};

/**
 * What a sample of calls meets at least once: each route, each actor at each kind of record and each relation of a
 * record, all of them served and refused where both occur, and each answer for each kind of record.
 */
export function strataOf({ actor, subject, target, varied, expected }: Cell): string[] {
  const { key, kind, shape } = subject;
  const isServed = expected.status < 400 || expected.code === successOf(subject).code;
  const answer = expected.code ?? "served";
  const named = varied?.target ?? target;
  return [
    `${key} ${isServed}`,
    `${actor.name} ${shape}`,
    `${actor.name} ${kind} ${isServed}`,
    `${kind} ${answer}`,
    `${named?.kind} ${named?.relation} ${isServed}`,
  ];
}

/** Without rows of devices: tests of their own check them, e2e/platform/attention.test.ts for one. */
const withoutRows = ["GET /devices/changes", "GET /devices/metrics", "GET /devices/history", "GET /attention"];
const tellsLater = ({ key }: Subject) => withoutRows.includes(key);

/** Every call of one actor to one route. */
export function cellsOf(world: World, subject: Subject, actor: Actor): Cell[] {
  const whole = { actor, subject, target: null, varied: null, several: null, listed: null };
  const away = turnedAway(actor, subject.needs);
  const success = successOf(subject);
  switch (subject.shape) {
    case "open":
      return [{ ...whole, expected: away ?? onNothing(actor, subject) ?? success }];
    case "self": {
      // What a session does to itself is not tried here: an empty body shows that it would come through.
      const cells = [{ ...whole, expected: away ?? onOneself(actor, subject) ?? success }];
      return away ? cells : [...cells, ...varied(world, cells[0] as Cell, success)];
    }
    case "list": {
      if (away) return [{ ...whole, expected: away }];
      const closed = closedTo(actor, subject);
      const lacking = lackingContext(subject, actor);
      const listed = tellsLater(subject) ? null : listedOf(world, actor, subject.kind, null);
      const cell = { ...whole, expected: closed ?? lacking ?? success, listed };
      return [cell, ...varied(world, cell, closed ?? success)];
    }
    case "create": {
      if (away) return [{ ...whole, expected: away }];
      const closed = closedTo(actor, subject);
      const cell = { ...whole, expected: closed ?? success };
      const cells = varied(world, cell, closed ?? success);
      return cells.length > 0 ? cells : [cell];
    }
    case "record": {
      const targets = world.targets.filter(({ kind }) => kind === subject.kind);
      const cells = targets.map((target): Cell => {
        return { ...whole, target, expected: away ?? onRecord(actor, subject, target) ?? success };
      });
      const found = cells.find(({ target, expected }) => target?.state === "active" && expected === success);
      return found ? [...cells, ...varied(world, found, success)] : cells;
    }
    case "agent": {
      const devices = world.targets.filter(({ kind }) => kind === "device");
      const targets = actor.device ? [...devices, actor.device] : devices;
      return targets.map((target) => ({ ...whole, target, expected: away ?? onOwnDevice(actor, subject, target) }));
    }
    case "several": {
      const cell = { ...whole, expected: away ?? success, several: severalOf(world, actor, subject) };
      return away ? [cell] : [cell, ...elsewhere(world, cell)];
    }
    default:
      return subject.shape satisfies never;
  }
}

/** One call for records of all tenants; of the active ones that it may change only the first. */
function severalOf(world: World, actor: Actor, subject: Subject): NonNullable<Cell["several"]> {
  const records = world.targets.filter(({ kind, state }) => kind === subject.kind && state !== "malformed");
  const checked = records.map((target) => ({ target, code: onRecord(actor, subject, target)?.code ?? null }));
  const changed = checked.find(({ target, code }) => target.state === "active" && code === null);
  return checked.filter((one) => one.code !== null || one === changed || one.target.state === "ended");
}

/** The record that the call would change, to be moved to a site of another organization or to none that there is. */
function elsewhere(world: World, cell: Cell): Cell[] {
  const moved = cell.several?.find(({ target, code }) => target.state === "active" && code === null);
  if (!moved || !cell.subject.key.endsWith("-update")) return [];
  const { orgId } = moved.target;
  const sites = world.targets.filter(({ kind, state, orgId: of }) => {
    return kind === "site" && (state === "missing" || (state === "active" && of !== orgId));
  });
  return sites.map((target) => ({
    ...cell,
    varied: { field: "siteId", within: "body", kind: "site", many: false, target },
    several: [{ ...moved, code: "site_not_found" }],
  }));
}

/** The same call with each field that names a record, naming one of every relation. */
function varied(world: World, cell: Cell, otherwise: Outcome): Cell[] {
  return cell.subject.references.flatMap((reference) =>
    world.targets
      .filter(({ kind, relation }) => kind === reference.kind && relation !== "ended")
      .map((target): Cell => {
        const isFilter = cell.subject.shape === "list" && !tellsLater(cell.subject);
        const listed = isFilter ? listedOf(world, cell.actor, cell.subject.kind, { ...reference, target }) : null;
        return {
          ...cell,
          varied: { ...reference, target },
          expected: naming(world, cell, reference, target, otherwise),
          listed,
        };
      }),
  );
}

/** Ids of this world that a list shows; null for platform administrators, who see other tenants' records, too. */
function listedOf(world: World, actor: Actor, kind: Kind | null, filter: Cell["varied"]): ReadonlySet<string> | null {
  // Audit rows are counted in the database; checkpoints come when they are due, verifications with other calls, events
  // with other posts.
  if (kind === "audit_log" || kind === "checkpoint" || kind === "audit_verification" || kind === "event") return null;
  const by = filter?.target;
  const within = (record: Target): boolean => {
    if (!by) return true;
    if (by.kind === "organization") return record.orgId === by.id;
    if (by.kind === "partner") return record.partnerId === by.id;
    return by.kind === "site" && record.siteId === by.id;
  };
  if (actor.scope === "system" && !by) return null;
  const shown = world.listed.filter((r) => r.kind === kind && exists(r) && hasAccess(actor, r) && within(r));
  return new Set(shown.map(({ id }) => id));
}

/** Kinds whose routes are served, and those that all others depend on. */
export function servedKinds(subjects: readonly Subject[]): Set<Kind> {
  const always: Kind[] = ["partner", "organization", "site", "device", "device_group", "user", "role"];
  const served = subjects.flatMap(({ kind }) => (kind === null ? [] : [kind]));
  return new Set([...always, ...served, ...(served.includes("webhook") ? (["delivery", "replay"] as const) : [])]);
}
