import type { paths } from "./generated/schema.ts";

type BodyOf<P extends keyof paths> = paths[P] extends {
  post: { requestBody?: { content: { "application/json": infer Body } } };
}
  ? Body
  : never;

/** What an API key may be granted; `*` stands for all. */
export type Scope = NonNullable<BodyOf<"/api/v1/api-keys">["scopes"]>[number];
/** What a webhook may subscribe to; `*` stands for all. */
export type EventName = BodyOf<"/api/v1/webhooks">["events"][number];
/** What a role may hold. */
export type Permission = BodyOf<"/api/v1/roles">["permissions"][number];
