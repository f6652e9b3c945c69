import type { Actor, ActorType } from "@muster/kit";

/**
 * Who posted an event: a service of the platform, or a caller of the API by type and id. Null for an event that an
 * earlier version accepted: nothing vouches for either.
 */
export type Poster = "platform" | `${CallerType}:${string}` | null;
/** The source that receivers see: the platform itself, or a caller of the API. */
export type Source = "platform" | "api";
type CallerType = Exclude<ActorType, "system">;

const byCaller = /^(user|api_key|agent):(.+)$/;
const isCaller = (text: string): text is `${CallerType}:${string}` => byCaller.test(text);

/** The services of the platform call as system actors; whoever else may post events does so through the API. */
export function posterOf({ type, id }: Pick<Actor, "type" | "id">): Exclude<Poster, null> {
  return type === "system" ? "platform" : `${type}:${id}`;
}

/**
 * The poster of a message of the stream. NATS lets a service publish under its own name alone, and only the dispatcher
 * publishes the posts of others.
 */
export function posterOfMessage(emitter: string, postedBy: string): Poster {
  if (emitter !== "webhook-dispatcher") return "platform";
  return postedBy === "platform" || isCaller(postedBy) ? postedBy : null;
}

export function sourceOf(poster: Poster): Source | null {
  if (poster === null) return null;
  return poster === "platform" ? "platform" : "api";
}

/** The caller of the API that posted an event. */
export function callerOf(poster: Poster): { type: string; id: string } | null {
  const [, type, id] = byCaller.exec(poster ?? "") ?? [];
  return type === undefined || id === undefined ? null : { type, id };
}
