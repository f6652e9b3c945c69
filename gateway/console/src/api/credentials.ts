/** Where requests get their token: the session of a user, or that of a portal. */
export type Credentials = {
  /** Null without a session. Throws the Failure of a renewal that did not decide. */
  accessToken(): Promise<string | null>;
  /** The token after `stale`, which was refused; null when the session has ended. */
  renewed(stale: string | null): Promise<string | null>;
  /** Whether a second factor was completed, so that the refused request may be sent again. */
  stepUp(): Promise<boolean>;
};

const none: Credentials = {
  accessToken: async () => null,
  renewed: async () => null,
  stepUp: async () => false,
};
let current = none;

/** Chosen once, by the entry of the page. */
export function setCredentials(credentials: Credentials): void {
  current = credentials;
}

export const credentials = (): Credentials => current;
