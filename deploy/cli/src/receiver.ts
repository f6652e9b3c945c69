import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { verifyWebhook } from "@muster/client";

/** One request that a webhook made. */
export type Seen = {
  at: string;
  /** Whether the webhook's secret signed it. */
  verified: boolean;
  type: string;
  eventId: string;
  deliveryId: string;
  attempt: number;
  possibleDuplicate: boolean;
  /** What the application behind `--forward-to` answered, or why it did not; null without one. */
  forwarded: number | string | null;
  data: unknown;
};

/** Hands a delivery on as it came; returns the status of the answer. */
export type Forward = (headers: Record<string, string>, body: Buffer) => Promise<number>;

type Receiving = { secret: string; forward: Forward | null; shown(seen: Seen): void; now?: () => Date };

const bodyMaxBytes = 1 << 20;
const ownHeaders = /^(content-(type|encoding)|user-agent|webhook-.*|x-.*)$/;

/**
 * Takes deliveries: verifies, hands on, reports each and returns the status to answer; a request that is too large is
 * 413 and not reported.
 */
export function receive({ secret, forward, shown, now = () => new Date() }: Receiving) {
  return async (request: IncomingMessage): Promise<number> => {
    const body = await bodyOf(request);
    if (body === null) return 413;
    const { headers } = request;
    const verified = await verifyWebhook(secret, headers, body);
    const forwarded = verified && forward ? await forward(forwardedHeaders(headers), body).catch(reasonOf) : null;
    const event = parsed(body);
    const text = (name: string) => String(headers[name] ?? "");
    shown({
      at: now().toISOString(),
      verified,
      type: String(event?.type ?? text("x-service-event-type")),
      eventId: String(event?.id ?? text("x-service-event-id")),
      deliveryId: text("x-service-delivery-id"),
      attempt: Number(headers["x-service-attempt"] ?? 1),
      possibleDuplicate: headers["x-service-possible-duplicate"] === "true",
      forwarded,
      data: event?.data ?? null,
    });
    if (!verified) return 401;
    if (forwarded === null) return 204;
    return typeof forwarded === "number" ? forwarded : 502;
  };
}

const reasonOf = (error: unknown) => {
  if (!(error instanceof Error)) return String(error);
  return (error.cause instanceof Error && error.cause.message) || error.message;
};

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const source: AsyncIterable<Buffer> = request;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bodyMaxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function forwardedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      ownHeaders.test(name) && typeof value === "string" ? [[name, value]] : [],
    ),
  );
}

function parsed(body: Buffer): { type?: unknown; id?: unknown; data?: unknown } | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null;
  }
}
