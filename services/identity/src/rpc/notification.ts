import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import {
  AppError,
  type CallContext,
  type FieldErrors,
  isUuid,
  longerThan,
  type NotificationKind,
  notificationKinds,
  validationError,
} from "@muster/kit";
import {
  NotificationAuthor,
  type NotificationService,
  type NotifyRequest,
} from "@muster/proto/muster/identity/v1/notification_pb";
import { callContext } from "@muster/rpc";
import { signedInUser } from "../commands/complete-factor.ts";
import { type Author, type Notice, notify, subscriptionOf } from "../commands/notify.ts";
import type { NotificationDeps } from "../deps.ts";
import { userEvent } from "../emits/audit.ts";
import { isNotificationKind, kindsOf, mayRead } from "../rules/notification.ts";
import { type PrincipalRow, principalCaller } from "../rules/principal.ts";
import { readChoices, storeChoice } from "../store/notifications.ts";
import { findPrincipal } from "../store/principals.ts";
import { refusedToken } from "../store/unknown-keys.ts";

type Handlers = ServiceImpl<typeof NotificationService>;

const authors: Record<Author, NotificationAuthor> = {
  allowed: NotificationAuthor.ALLOWED,
  refused: NotificationAuthor.REFUSED,
  missing: NotificationAuthor.MISSING,
};

/** Mails of notifications, and what users chose of them. */
export function notificationService(deps: NotificationDeps): Handlers {
  const { db } = deps;
  return {
    async notify(request, handler) {
      requireService(callContext(handler));
      const { author, notifiedIds } = await notify(deps, noticeOf(request));
      return { author: authors[author], notifiedIds };
    },

    async findAuthor({ authorId, orgId, partnerId, permission }, handler) {
      requireService(callContext(handler));
      if (!isUuid(authorId)) throw validationError({ authorId: ["Must be a UUID"] });
      const user = await findPrincipal(db, authorId);
      const about = { permission, orgId: orgId || null, partnerId: partnerId || null };
      return { author: authors[user === null ? "missing" : mayRead(user, about) ? "allowed" : "refused"] };
    },

    async listNotificationChoices(_request, handler) {
      const context = callContext(handler);
      const { principal } = await signedInUser(deps, context);
      return { choices: await db.tx(context, (tx) => choicesOf(tx, principal), { readOnly: true }) };
    },

    async setNotificationChoice({ choice }, handler) {
      const context = callContext(handler);
      const { principal } = await signedInUser(deps, context);
      const { kind = "", mail = false } = choice ?? {};
      const kinds = kindsOf(principal.scope);
      if (!isNotificationKind(kind) || !kinds.includes(kind)) {
        throw validationError({ kind: [`One of ${kinds.join(", ")}`] });
      }
      return { choices: await choose(deps, context, principal, { kind, mail }) };
    },

    async unsubscribe({ token }, handler) {
      const context = callContext(handler);
      const subscription = subscriptionOf(deps.unsubscribing, token);
      if (!subscription) throw await refusedToken(deps, context, invalidToken());
      const user = await findPrincipal(db, subscription.userId);
      // Whoever is gone gets no mail: the link has what it wants.
      if (user) {
        const who = { ...context, caller: principalCaller(user) };
        await choose(deps, who, user, { kind: subscription.kind, mail: false });
      }
      return {};
    },
  };
}

function requireService({ caller }: CallContext): void {
  if (caller.actor.type !== "system") throw new AppError("permission_denied", "Notifications are sent by services");
}

function choose(
  { db, now }: NotificationDeps,
  context: CallContext,
  user: PrincipalRow,
  { kind, mail }: { kind: NotificationKind; mail: boolean },
) {
  return db.tx(context, async (tx) => {
    const before = (await readChoices(tx, user.user_id)).get(kind) ?? true;
    if (before !== mail) {
      await storeChoice(tx, user.user_id, kind, mail);
      const details = { kind, changes: { before: { mail: before }, after: { mail } } };
      tx.emit(userEvent(context, user, { action: "user.notifications.update", details }, now()));
    }
    return choicesOf(tx, user);
  });
}

async function choicesOf(tx: Tx, { user_id: userId, scope }: PrincipalRow) {
  const chosen = await readChoices(tx, userId);
  return kindsOf(scope).map((kind) => ({ kind, mail: chosen.get(kind) ?? true }));
}

/** Throws `validation_failed`: an error of the calling service. */
function noticeOf(request: NotifyRequest): Notice {
  const { id, kind, orgId, partnerId, permission, authorId, userIds, line, link, allOfPlatform, allOfPartner } =
    request;
  const errors: FieldErrors = {};
  const isIdOrEmpty = (text: string) => text === "" || isUuid(text);
  if (!isUuid(id)) errors.id = ["Must be a UUID"];
  if (!isNotificationKind(kind)) throw validationError({ kind: [`One of ${notificationKinds.join(", ")}`] });
  if (!isIdOrEmpty(orgId)) errors.orgId = ["Must be a UUID"];
  if (!isIdOrEmpty(partnerId)) errors.partnerId = ["Must be a UUID"];
  if (!isIdOrEmpty(authorId)) errors.authorId = ["Must be a UUID"];
  if (!userIds.every(isUuid)) errors.userIds = ["Must be UUIDs"];
  const isOfTenant = orgId !== "" || partnerId !== "";
  if (allOfPlatform && (isOfTenant || userIds.length > 0)) errors.allOfPlatform = ["Takes no tenant and no users"];
  const isOfPartner = partnerId !== "" && orgId === "";
  if (allOfPartner && (!isOfPartner || userIds.length > 0)) errors.allOfPartner = ["Takes a partner and no users"];
  if (permission === "") errors.permission = ["Required"];
  if (line === "" || longerThan(line, 500)) errors.line = ["1 to 500 characters"];
  if (link !== "" && !link.startsWith("/")) errors.link = ["Must begin with a slash"];
  if (Object.keys(errors).length > 0) throw validationError(errors);
  const about = { permission, orgId: orgId || null, partnerId: partnerId || null };
  const allOf = allOfPlatform ? "platform" : allOfPartner ? "partner" : null;
  return { id, kind, about, line, link, authorId: authorId || null, userIds, allOf };
}

const invalidToken = () => new AppError("invalid_token", "Invalid or expired token");
