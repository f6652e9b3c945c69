const verbs: Readonly<Record<string, string>> = {
  create: "created",
  register: "registered",
  update: "changed",
  change: "changed",
  delete: "deleted",
  remove: "removed",
  add: "added",
  approve: "approved",
  replace: "replaced",
  rotate: "rotated",
  revoke: "revoked",
  enable: "enabled",
  disable: "disabled",
  invite: "invited",
  accept: "accepted",
  verify: "verified",
  test: "tested",
  retry: "retried",
  requeue: "queued again",
  replay: "replayed",
  export: "exported",
  read: "read",
  promote: "promoted",
  yank: "yanked",
  sync: "synchronized",
  pause: "paused",
  resume: "resumed",
  complete: "completed",
  cancel: "cancelled",
  decommission: "decommissioned",
  enroll: "enrolled",
  migrate: "migrated",
  link: "linked",
  unlink: "unlinked",
  reset: "reset",
  start: "started",
  submit: "submitted",
  fail: "failed",
  halt: "halted",
  end: "ended",
  request: "requested",
  deny: "denied",
  open: "opened",
  reveal: "shown",
  resend: "sent again",
  claim: "claimed",
  setup: "set up",
  prune: "pruned",
  exchange: "exchanged",
  append: "appended",
  yield: "given up",
};

/** Verbs of which the code is not what is said. */
const infinitives: Readonly<Record<string, string>> = {
  update: "change",
  requeue: "queue again",
  replay: "replay",
  reveal: "show",
  resend: "send again",
  setup: "set up",
  yield: "give up",
};

const kinds: Readonly<Record<string, string>> = {
  api_key: "API key",
  sso_provider: "identity provider",
  sso_domain: "domain",
  sso: "single sign-on",
  mfa: "a second factor",
  totp: "an authenticator app",
  ip: "IP address",
};

/** Titles where the rule would not say what happened. */
const titles: Readonly<Record<string, string>> = {
  "user.login": "Signed in",
  "user.logout": "Signed out",
  "user.login.failed": "Sign-in refused",
  "user.invite.accept": "Invitation accepted",
  "user.mfa.verify": "Second factor entered",
  "data.access": "Data read",
  "webhook.dead_letter": "Delivery given up",
  "webhook.test": "Webhook test sent",
  "device.bulk_job.create": "Many devices changed",
  "device.bulk_job.cancel": "Bulk job cancelled",
};

/** Titles of what did not happen, where the rule would not say it. */
const refusedTitles: Readonly<Record<string, string>> = {
  "user.login": "Sign-in refused",
  "user.login.failed": "Sign-in refused",
  "user.logout": "Sign-out refused",
  "user.invite.accept": "Invitation refused",
  "user.mfa.verify": "Second factor refused",
  "data.access": "Tried to read data",
  "data.export": "Tried to export data",
  "webhook.test": "Webhook test failed",
  "device.bulk_job.create": "Tried to change many devices",
  "device.bulk_job.cancel": "Tried to cancel a bulk job",
};

/** The names of fields and records as words: `device_group` is "device group". */
export const words = (name: string) =>
  (Object.hasOwn(kinds, name) ? kinds[name] : undefined) ?? name.replaceAll(/[._-]/g, " ");

/** What an action's code says, as the title of a row: `site.update` is "Site changed". */
export function actionTitle(action: string): string {
  const own = Object.hasOwn(titles, action) ? titles[action] : undefined;
  if (own) return own;
  const { did, kind } = actionWords({ action, resource: { type: "", name: null } });
  const said = did === words(action) ? action.split(".").map(words) : [kind, did];
  const title = said
    .filter(Boolean)
    .join(" ")
    .replaceAll(/\ban? /g, "");
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** Codes that say themselves that something failed. */
const ownFailure = /(?:^|[._])(?:failed|fail|rejected|contradicted|halt|expiring|expired)$/;
/** Records whose parts are named as theirs: "a user's password". */
const owners: ReadonlySet<string> = new Set(["user", "organization", "partner", "directory"]);
const isMany = (noun: string) => /s$/.test(noun) && !/(?:ss|us)$/.test(noun);
const withArticle = (noun: string) =>
  isMany(noun) || noun === "" ? noun : `${/^(?:[aeio]|u(?!s)|API|IP)/.test(noun) ? "an" : "a"} ${noun}`;

/** The records of an action's code, as an object: "a user's password", "an API key", "recovery codes". */
function objectOf(names: readonly string[]): string {
  const [owner = "", ...parts] = names.map((name) => words(name).replace(/^an? /, ""));
  if (!owners.has(owner) || parts.length === 0) return withArticle([owner, ...parts].join(" "));
  return `${withArticle(owner)}'s ${parts.join(" ")}`;
}

/**
 * What an action's code says that was only tried: `site.delete` is "Tried to delete a site" where it was refused, and
 * "Failed to delete a site" where it failed.
 */
export function attemptTitle(action: string, result: "failure" | "denied"): string {
  const own = Object.hasOwn(refusedTitles, action) ? refusedTitles[action] : undefined;
  if (own) return own;
  if (ownFailure.test(action)) return actionTitle(action);
  const { verb, names } = partsOf(action);
  if (verb === null) return `${actionTitle(action)}: ${result === "denied" ? "refused" : "failed"}`;
  const infinitive = Object.hasOwn(infinitives, verb) ? infinitives[verb] : verb;
  return `${result === "denied" ? "Tried" : "Failed"} to ${infinitive} ${objectOf(names)}`.trimEnd();
}

/** The verb of a code, as it stands there, and the records that it is about; null without one. */
function partsOf(action: string): { verb: string | null; names: readonly string[] } {
  const parts = action.split(".");
  const [first = "", ...rest] = (parts.at(-1) ?? action).split("_");
  const names = [...parts.slice(0, -1), ...rest];
  return Object.hasOwn(verbs, first) ? { verb: first, names } : { verb: null, names: parts };
}

const bulkVerbs: Readonly<Record<string, string>> = {
  update: "changed",
  decommission: "decommissioned",
  approve: "approved",
  merge: "merged",
  reject: "rejected",
};

/** What the row of a bulk job says of its devices; null for other rows. */
function bulkWords({ action, details }: Pick<TitledRow, "action" | "details">): { did: string; kind: string } | null {
  if (action !== "device.bulk_job.create" || typeof details?.devices !== "number") return null;
  const did = bulkVerbs[String(details.action)] ?? "changed";
  return { did, kind: `${details.devices.toLocaleString("en")} ${details.devices === 1 ? "device" : "devices"}` };
}

type TitledRow = {
  action: string;
  result: "success" | "failure" | "denied";
  details?: Readonly<Record<string, unknown>>;
};

/** What a row says that happened, or that somebody tried. */
export function rowTitle(row: TitledRow): string {
  if (row.result !== "success") return attemptTitle(row.action, row.result);
  const bulk = bulkWords(row);
  return bulk ? `${bulk.kind} ${bulk.did}` : actionTitle(row.action);
}

type Row = {
  action: string;
  resource: { type: string; name: string | null };
  result?: TitledRow["result"];
  details?: TitledRow["details"];
};

/** What an audit row is about: what was done, or only tried, to which kind of record, and its name. */
export function actionWords({ action, resource, result = "success", details }: Row): {
  did: string;
  kind: string;
  name: string | null;
} {
  if (result !== "success") {
    const title = attemptTitle(action, result);
    return { did: title.charAt(0).toLowerCase() + title.slice(1), kind: "", name: resource.name };
  }
  const bulk = bulkWords({ action, ...(details ? { details } : {}) });
  if (bulk) return { ...bulk, name: null };
  if (action === "user.login") return { did: "signed in", kind: "", name: null };
  if (action === "user.logout") return { did: "signed out", kind: "", name: null };
  const { verb, names } = partsOf(action);
  if (verb === null) return { did: words(action), kind: "", name: resource.name };
  return { did: verbs[verb] ?? verb, kind: names.map(words).join(" "), name: resource.name };
}

type Acted = { actorType: string; user: { name: string | null; email: string | null } };

/** Whether a person did it, or a program with a key of theirs: no agent, and not the platform. */
export const isByUser = ({ actorType }: Acted) => actorType === "user" || actorType === "api_key";

/** Who did what an audit row of a user says. */
export const actorOf = ({ user }: Acted) => user.name ?? user.email ?? "An API key";

const actorKinds: Readonly<Record<string, string>> = {
  user: "a user",
  api_key: "an API key",
  agent: "an agent",
  system: "Muster",
};

/** Who did what any audit row says, within a sentence; one without a name by its kind. Muster's services are Muster. */
export function actorWords({ user, actorType }: Acted): string {
  const name = user.name ?? user.email;
  const isService = actorType === "system" && /^[a-z-]+$/.test(name ?? "");
  return (isService ? null : name) ?? actorKinds[actorType] ?? actorType;
}
