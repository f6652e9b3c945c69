import { notificationKinds } from "@muster/kit";
import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { success } from "../fields/schemas.ts";

const tag = "Sessions";
const kind = z.enum(notificationKinds).meta({ description: "What the mails are about.", example: "audit_alert" });
const choice = z
  .object({ kind, mail: z.boolean().meta({ description: "Whether the user gets mails of the kind." }) })
  .meta({ id: "NotificationChoice" });
const choices = z.object({ data: z.array(choice) });

const list = route({
  method: "GET",
  path: "/auth/notifications",
  access: { auth: "session" },
  tag,
  summary: "Which notifications the caller gets by mail",
  description: "At most one mail per kind and hour, which lists what happened meanwhile.",
  noStore: true,
  reply: choices,
  async handle({ rpc }, { services }) {
    return choicesOf(await services.notifications.listNotificationChoices({}, await rpc()));
  },
});

const update = route({
  method: "PATCH",
  path: "/auth/notifications",
  audit: "user.notifications.update",
  access: { auth: "session" },
  tag,
  summary: "Choose whether notifications of a kind come by mail",
  body: z.object({ kind, mail: z.boolean() }),
  example: { kind: "audit_alert", mail: false },
  noStore: true,
  reply: choices,
  async handle({ body, rpc }, { services }) {
    return choicesOf(await services.notifications.setNotificationChoice({ choice: body }, await rpc()));
  },
});

const unsubscribe = route({
  method: "POST",
  path: "/auth/unsubscribe",
  access: { auth: "none" },
  tag,
  summary: "End the mails of a kind with the token of a mail's link",
  body: z.object({ token: z.string().min(1).max(1_000) }),
  example: { token: "AgJrMQ…" },
  noStore: true,
  reply: success,
  errors: ["invalid_token", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    await services.notifications.unsubscribe(body, await rpc());
    return { success: true as const };
  },
});

function choicesOf(reply: { choices: readonly { kind: string; mail: boolean }[] }): z.output<typeof choices> {
  return { data: reply.choices.map((each) => ({ kind: kind.parse(each.kind), mail: each.mail })) };
}

export const notificationRoutes: readonly Route[] = [list, update, unsubscribe];
