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
};

const kinds: Readonly<Record<string, string>> = {
  api_key: "API key",
  sso_provider: "identity provider",
  sso_domain: "domain",
  sso: "single sign-on",
  mfa: "a second factor",
  totp: "an authenticator app",
};

/** The names of fields and records as words: `device_group` is "device group". */
export const words = (name: string) => kinds[name] ?? name.replaceAll(/[._-]/g, " ");

type Row = { action: string; resource: { type: string; name: string | null } };

/** What an audit row is about: what was done, to which kind of record, and its name. */
export function actionWords({ action, resource }: Row): { did: string; kind: string; name: string | null } {
  if (action === "user.login") return { did: "signed in", kind: "", name: null };
  if (action === "user.logout") return { did: "signed out", kind: "", name: null };
  const parts = action.split(".");
  const last = parts.at(-1) ?? action;
  const [first = "", ...rest] = last.split("_");
  const verb = verbs[first];
  if (!verb) return { did: words(action), kind: "", name: resource.name };
  const kind = [...parts.slice(0, -1), ...rest].map(words).join(" ");
  return { did: verb, kind, name: resource.name };
}

type Acted = { actorType: string; user: { name: string | null; email: string | null } };

/** Whether a person did it, or a program with a key of theirs: no agent, and not the platform. */
export const isByUser = ({ actorType }: Acted) => actorType === "user" || actorType === "api_key";

/** Who did what an audit row of a user says. */
export const actorOf = ({ user }: Acted) => user.name ?? user.email ?? "An API key";
