export type Tokens = { accessToken: string; refreshToken: string };

export type Session = {
  accessToken(): string | null;
  /** The next access token; however many requests ask at once, the refresh token is sent once. Null when it is refused. */
  refreshed(stale: string): Promise<string | null>;
};

const refreshPath = "/api/v1/auth/refresh";

/** Holds a pair of tokens and exchanges it when the access token has expired. `onTokens` hears of each next pair, and null of the end. */
export function createSession(
  first: Tokens,
  {
    baseUrl,
    fetch,
    onTokens,
  }: { baseUrl: string; fetch: typeof globalThis.fetch; onTokens?: (next: Tokens | null) => void },
): Session {
  let tokens: Tokens | null = first;
  let underway: Promise<string | null> | null = null;

  async function exchange(refreshToken: string): Promise<string | null> {
    const reply = await fetch(`${baseUrl}${refreshPath}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ refreshToken }),
    });
    if (reply.ok) {
      const { accessToken, refreshToken: next } = (await reply.json()) as Tokens;
      tokens = { accessToken, refreshToken: next };
    } else if (reply.status === 401) {
      tokens = null;
    } else {
      // The session is not over because the API is busy.
      return null;
    }
    onTokens?.(tokens);
    return tokens?.accessToken ?? null;
  }

  return {
    accessToken: () => tokens?.accessToken ?? null,
    refreshed(stale) {
      // Somebody else's flight has landed meanwhile.
      if (tokens === null || tokens.accessToken !== stale) return Promise.resolve(tokens?.accessToken ?? null);
      underway ??= exchange(tokens.refreshToken).finally(() => {
        underway = null;
      });
      return underway;
    },
  };
}
