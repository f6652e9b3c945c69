import { createClient } from "@connectrpc/connect";
import { type NotificationKind, ownMeta, systemCaller } from "@muster/kit";
import { NotificationService } from "@muster/proto/muster/identity/v1/notification_pb";
import { callOptions, createSigner, createTransport } from "@muster/rpc";
import { service } from "../config.ts";

const timeoutMs = 5_000;
const kind: NotificationKind = "rollout_halted";

/** Notifies the platform's administrators; a repeat of the id does nothing. Throws ConnectError. */
export type NotifyOfHalt = (notice: { id: string; line: string; link: string }) => Promise<void>;

/** Calls identity in the name of this service. */
export function identityClient(options: { baseUrls: string[]; privateKeys: string }): {
  notify: NotifyOfHalt;
  close(): Promise<void>;
} {
  const signer = createSigner({ issuer: service, privateKeys: options.privateKeys });
  const transport = createTransport({
    baseUrls: options.baseUrls,
    connections: 1,
    callers: { service: "identity", signer },
  });
  const client = createClient(NotificationService, transport);
  const caller = systemCaller(service);
  return {
    async notify(notice) {
      const meta = ownMeta();
      const wanted = { ...notice, kind, permission: "platform:admin", allOfPlatform: true };
      await client.notify(wanted, await callOptions({ caller, meta, deadlineMs: performance.now() + timeoutMs }));
    },
    close: () => transport.close(),
  };
}
