import { createClient } from "@connectrpc/connect";
import { ownMeta, systemCaller } from "@muster/kit";
import { NotificationAuthor, NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { callOptions, createSigner, createTransport, toAppError } from "@muster/rpc";

/** Whether the user in whose name it is sent may still read it. */
export type Author = "allowed" | "refused" | "missing";

/** Readers must hold `audit:read` in the tenant; neither id is the platform. */
export type Notice = {
  id: string;
  orgId: string | null;
  partnerId: string | null;
  authorId: string;
  userIds: readonly string[];
  line: string;
};

/** Identity, as alerts need it. */
export type Notifications = {
  /** Adds a line to the recipients' next mails. A repeat of an id adds nothing. Throws AppError. */
  notify(notice: Notice): Promise<Author>;
  /** Whether the author may read such rows now. Throws AppError. */
  findAuthor(of: Pick<Notice, "orgId" | "partnerId" | "authorId">): Promise<Author>;
};

const timeoutMs = 10_000;
const permission = "audit:read";
const kind = "audit_alert";

/** Calls identity in audit's name. */
export function notifications(options: {
  baseUrls: string[];
  privateKeys: string;
}): Notifications & { close(): Promise<void> } {
  const signer = createSigner({ issuer: "audit", privateKeys: options.privateKeys });
  const transport = createTransport({ baseUrls: options.baseUrls, callers: { service: "identity", signer } });
  const client = createClient(NotificationService, transport);
  const fail = (thrown: unknown): never => {
    throw toAppError(thrown);
  };
  return {
    async notify({ orgId, partnerId, userIds, ...notice }) {
      const about = { orgId: orgId ?? "", partnerId: partnerId ?? "", permission };
      const request = { ...notice, ...about, kind, userIds: [...userIds], link: "/audit" };
      return authorOf((await client.notify(request, call()).catch(fail)).author);
    },
    async findAuthor({ orgId, partnerId, authorId }) {
      const request = { orgId: orgId ?? "", partnerId: partnerId ?? "", permission, authorId };
      return authorOf((await client.findAuthor(request, call()).catch(fail)).author);
    },
    close: () => transport.close(),
  };
}

function authorOf(author: NotificationAuthor): Author {
  if (author === NotificationAuthor.ALLOWED) return "allowed";
  return author === NotificationAuthor.MISSING ? "missing" : "refused";
}

function call() {
  const meta = ownMeta();
  return callOptions({ caller: systemCaller("audit"), meta, deadlineMs: performance.now() + timeoutMs });
}
