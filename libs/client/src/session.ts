export type Tokens = { accessToken: string; refreshToken: string };

/** The next pair; `ended` when the refresh token is refused; `later` when the API could not decide. */
export type Exchanged = Tokens | "ended" | "later";

/**
 * Wraps each exchange of a refresh token, so that several processes or tabs with one session make one: it returns the
 * pair that another of them got, or calls `exchange` and stores what it returns.
 */
export type RefreshWith = (current: Tokens, exchange: (tokens: Tokens) => Promise<Exchanged>) => Promise<Exchanged>;

export type Session = {
  accessToken(): string | null;
  /**
   * The next access token; however many requests ask at once, the refresh token is sent once. Null when there is none.
   */
  refreshed(stale: string): Promise<string | null>;
};

export type SessionOptions = {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
  onTokens?: ((next: Tokens | null) => void) | undefined;
  refreshWith?: RefreshWith | undefined;
};

const refreshPath = "/api/v1/auth/refresh";

/**
 * Holds a pair of tokens and exchanges it when the access token has expired. `onTokens` receives each next pair, and
 * null of the end.
 */
export function createSession(first: Tokens, { baseUrl, fetch, onTokens, refreshWith }: SessionOptions): Session {
  let tokens: Tokens | null = first;
  let renewal: Promise<string | null> | null = null;

  async function exchange({ refreshToken }: Tokens): Promise<Exchanged> {
    const reply = await fetch(`${baseUrl}${refreshPath}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ refreshToken }),
    });
    // The session is not over because the API is busy.
    if (!reply.ok) return reply.status === 401 ? "ended" : "later";
    const next = (await reply.json()) as Tokens;
    return { accessToken: next.accessToken, refreshToken: next.refreshToken };
  }

  async function renew(current: Tokens): Promise<string | null> {
    const next = refreshWith ? await refreshWith(current, exchange) : await exchange(current);
    if (next === "later") return null;
    tokens = next === "ended" ? null : next;
    onTokens?.(tokens);
    return tokens?.accessToken ?? null;
  }

  return {
    accessToken: () => tokens?.accessToken ?? null,
    refreshed(stale) {
      // Another request's exchange has ended meanwhile.
      if (tokens === null || tokens.accessToken !== stale) return Promise.resolve(tokens?.accessToken ?? null);
      renewal ??= renew(tokens).finally(() => {
        renewal = null;
      });
      return renewal;
    },
  };
}
