type Row = { action: string; result: "success" | "failure" | "denied" };

/** The actions that make an account what it is, by its state, each with what is said of it. */
const causes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  active: { "user.enable": "Enabled again" },
  invited: { "user.invite": "Invited", "user.create": "Invited" },
  disabled: { "user.disable": "Disabled" },
};

/** The newest of an account's rows that made it what it is, and what that was; null where none of them did. */
export function accountCause<R extends Row>(status: string, newestFirst: readonly R[]): { row: R; did: string } | null {
  const words = Object.hasOwn(causes, status) ? (causes[status] ?? {}) : {};
  const row = newestFirst.find(({ action, result }) => result === "success" && Object.hasOwn(words, action));
  return row ? { row, did: words[row.action] ?? "" } : null;
}
