/** The body of every error of the API, with its status; `network_error` is a request that nothing answered. */
export type Failure = {
  status: number;
  code: string;
  error: string;
  requestId: string;
  /** Seconds until a repeat may succeed; null when the API names none. */
  retryAfterSeconds: number | null;
  /** Of `device_count_changed`: how many devices match now. */
  count?: number;
  details?: { formErrors: string[]; fieldErrors: Record<string, string[]> };
};

export type Outcome<T> = { data: T; failure?: undefined } | { data?: undefined; failure: Failure };

/**
 * Calls the API of this origin with JSON, once; every failure is a value. The cookie of the session goes along only
 * where it is read.
 */
export async function call<T>(method: string, path: string, body?: object, accessToken?: string): Promise<Outcome<T>> {
  let reply: Response;
  try {
    reply = await fetch(`/api/v1${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    return { failure: unanswered };
  }
  const parsed = (await reply.json().catch(() => null)) as Partial<Failure> | null;
  if (reply.ok && parsed !== null) return { data: parsed as T };
  return { failure: failureOf(reply, parsed) };
}

export const unanswered: Failure = {
  status: 0,
  code: "network_error",
  error: "Muster cannot be reached",
  requestId: "",
  retryAfterSeconds: null,
};

/** Also of replies that do not come from the API: a proxy in front of it may answer with a page. */
export function failureOf(reply: Response, body: Partial<Failure> | null): Failure {
  const seconds = Number(reply.headers.get("retry-after") ?? Number.NaN);
  return {
    code: "unavailable",
    error: "The reply cannot be read",
    ...body,
    status: reply.status,
    requestId: reply.headers.get("x-request-id") ?? "",
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
  };
}
