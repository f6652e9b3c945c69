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

type Row = { action: string; resource: { type: string; name: string | null } };

/** What an audit row is about: what was done, to which kind of record, and its name. */
export function actionWords({ action, resource }: Row): { did: string; kind: string; name: string | null } {
  if (action === "user.login") return { did: "signed in", kind: "", name: null };
  if (action === "user.logout") return { did: "signed out", kind: "", name: null };
  const parts = action.split(".");
  const last = parts.at(-1) ?? action;
  const [first = "", ...rest] = last.split("_");
  const verb = Object.hasOwn(verbs, first) ? verbs[first] : undefined;
  if (!verb) return { did: words(action), kind: "", name: resource.name };
  const kind = [...parts.slice(0, -1), ...rest].map(words).join(" ");
  return { did: verb, kind, name: resource.name };
}

type Acted = { actorType: string; user: { name: string | null; email: string | null } };

/** Whether a person did it, or a program with a key of theirs: no agent, and not the platform. */
export const isByUser = ({ actorType }: Acted) => actorType === "user" || actorType === "api_key";

/** Who did what an audit row of a user says. */
export const actorOf = ({ user }: Acted) => user.name ?? user.email ?? "An API key";
