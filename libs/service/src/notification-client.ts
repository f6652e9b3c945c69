import { createClient } from "@connectrpc/connect";
import { type NotificationKind, ownMeta, systemCaller } from "@muster/kit";
import { NotificationAuthor, NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { callOptions, createSigner, createTransport, toAppError } from "@muster/rpc";

/** Whether the user in whose name it is sent may still read it; `allowed` for the platform. */
export type NotificationAuthorState = "allowed" | "refused" | "missing";

/** The tenant that something is about, neither id for the platform, and the permission that its readers need there. */
export type NotificationAbout = { permission: string; orgId: string | null; partnerId: string | null };

export type Notification = NotificationAbout & {
  /** UUID of the occurrence: a repeat adds nothing. */
  id: string;
  kind: NotificationKind;
  /** At most 500 characters. */
  line: string;
  /** Path of the console. */
  link: string;
  /** Null: the platform's own. */
  authorId: string | null;
  /** Users, or all of the platform or of the partner with the permission. */
  to: readonly string[] | "platform" | "partner";
};

/** Identity, which knows who may read what, and mails it. */
export type NotificationClient = {
  /** Adds a line to the recipients' next mails. Throws AppError. */
  notify(notification: Notification): Promise<NotificationAuthorState>;
  /** Whether the author may read such things now. Throws AppError. */
  findAuthor(of: NotificationAbout & { authorId: string }): Promise<NotificationAuthorState>;
  close(): Promise<void>;
};

const timeoutMs = 10_000;

/** Calls identity in the name of a service, which libs/rpc's issuers must allow. */
export function notificationClient(options: {
  service: string;
  baseUrls: string[];
  privateKeys: string;
}): NotificationClient {
  const { service, baseUrls, privateKeys } = options;
  const signer = createSigner({ issuer: service, privateKeys });
  const transport = createTransport({ baseUrls, connections: 1, callers: { service: "identity", signer } });
  const client = createClient(NotificationService, transport);
  const caller = systemCaller(service);
  const call = () => callOptions({ caller, meta: ownMeta(), deadlineMs: performance.now() + timeoutMs });
  const fail = (thrown: unknown): never => {
    throw toAppError(thrown);
  };
  return {
    async notify({ orgId, partnerId, authorId, to, ...text }) {
      const about = { orgId: orgId ?? "", partnerId: partnerId ?? "", authorId: authorId ?? "" };
      const recipients = recipientsOf(to);
      const { author } = await client.notify({ ...text, ...about, ...recipients }, await call()).catch(fail);
      return stateOf(author);
    },
    async findAuthor({ orgId, partnerId, ...of }) {
      const about = { orgId: orgId ?? "", partnerId: partnerId ?? "" };
      return stateOf((await client.findAuthor({ ...of, ...about }, await call()).catch(fail)).author);
    },
    close: () => transport.close(),
  };
}

function stateOf(author: NotificationAuthor): NotificationAuthorState {
  if (author === NotificationAuthor.ALLOWED) return "allowed";
  return author === NotificationAuthor.MISSING ? "missing" : "refused";
}

function recipientsOf(to: Notification["to"]) {
  if (to === "platform") return { allOfPlatform: true };
  return to === "partner" ? { allOfPartner: true } : { userIds: [...to] };
}
