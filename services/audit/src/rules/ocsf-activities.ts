const iam = { uid: 3, caption: "Identity & Access Management" };
const application = { uid: 6, caption: "Application Activity" };

/** The classes that rows become. */
export const classes = {
  authentication: { uid: 3_002, caption: "Authentication", category: iam },
  account_change: { uid: 3_001, caption: "Account Change", category: iam },
  entity_management: { uid: 3_004, caption: "Entity Management", category: iam },
  api_activity: { uid: 6_003, caption: "API Activity", category: application },
} as const;
export type ClassName = keyof typeof classes;

/** An activity of a class; 99 is one that the class has no number for, under a name of ours. */
export type Activity = { class: ClassName; id: number; name: string };

const authentication = (id: number, name: string): Activity => ({ class: "authentication", id, name });
const account = (id: number, name: string): Activity => ({ class: "account_change", id, name });
const api = (id: number, name: string): Activity => ({ class: "api_activity", id, name });

/** Actions by their whole name. */
const exact: Readonly<Record<string, Activity>> = {
  "user.login": authentication(1, "Logon"),
  "user.login.failed": authentication(1, "Logon"),
  "user.logout": authentication(2, "Logoff"),
  "session.revoke": authentication(2, "Logoff"),
  "user.sessions.end": authentication(2, "Logoff"),
  "user.mfa.verify": authentication(99, "MFA Verify"),
  "user.create": account(1, "Create"),
  "user.invite": account(1, "Create"),
  "user.invite.accept": account(2, "Enable"),
  "user.enable": account(2, "Enable"),
  "user.password.change": account(3, "Password Change"),
  "user.password.reset": account(4, "Password Reset"),
  "user.disable": account(5, "Disable"),
  "user.delete": account(6, "Delete"),
  "user.permission.change": account(7, "Attach Policy"),
  "user.mfa.enable": account(10, "MFA Factor Enable"),
  "user.passkey.create": account(10, "MFA Factor Enable"),
  "user.mfa.disable": account(11, "MFA Factor Disable"),
  "user.passkey.delete": account(11, "MFA Factor Disable"),
  "user.factors.reset": account(11, "MFA Factor Disable"),
  "data.access": api(2, "Read"),
  "data.export": api(2, "Read"),
  "agent.eventlogs.submit": api(1, "Create"),
};

/** Prefixes of actions on records that Entity Management describes. */
const entities: readonly string[] = [
  "role.",
  "api_key.",
  "enrollment_key.",
  "service_principal.",
  "portal_link.",
  "sso.",
  "partner.",
  "organization.",
  "site.",
  "device.",
  "device_group.",
  "saved_view.",
  "webhook.",
  "webhook_event_type.",
  "agent_version.",
  "agent_update.",
  "agent.token.",
  "audit.alert.",
  "audit.stream.",
  "audit.retention.",
];

/** The last word of an action, by the activity that Entity Management has for it; any other is an update. */
const verbs: Readonly<Record<string, readonly [id: number, name: string]>> = {
  create: [1, "Create"],
  register: [1, "Create"],
  read: [2, "Read"],
  delete: [4, "Delete"],
  revoke: [4, "Delete"],
  purge: [4, "Delete"],
  prune: [4, "Delete"],
  enroll: [6, "Enroll"],
  decommission: [7, "Unenroll"],
  enable: [8, "Enable"],
  disable: [9, "Disable"],
  pause: [12, "Suspend"],
  halt: [12, "Suspend"],
  fail: [12, "Suspend"],
  resume: [13, "Resume"],
};

/** The class and activity of an action. One that no row names is API Activity, under its own name. */
export function activityOf(action: string): Activity {
  const found = Object.hasOwn(exact, action) ? exact[action] : undefined;
  if (found) return found;
  if (action.startsWith("user.")) return account(99, action);
  if (!entities.some((prefix) => action.startsWith(prefix))) return api(99, action);
  const verb = action.slice(action.lastIndexOf(".") + 1);
  const [id, name] = (Object.hasOwn(verbs, verb) ? verbs[verb] : undefined) ?? [3, "Update"];
  return { class: "entity_management", id, name };
}
