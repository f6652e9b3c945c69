/** Actions of audit rows that say how a sign-in ended, accepted or refused. */
export const signInActions = ["user.login", "user.login.failed"] as const;

/** The same, and the ends of sessions. */
export const sessionActions: readonly string[] = [...signInActions, "user.logout"];

export const isOfSession = (action: string): boolean => sessionActions.includes(action);
