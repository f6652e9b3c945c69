import type { Chosen } from "../../operations/chosen.tsx";
import type { Operation } from "../../operations/record-operation.ts";
import { accountKinds } from "./account-kinds.ts";
import { connectKinds } from "./connect-kinds.ts";
import { fleetKinds } from "./fleet-kinds.ts";
import type { Kind } from "./kind.ts";
import { trustKinds } from "./trust-kinds.ts";

/** Every kind of record that is found by its name. */
export const kinds: readonly Kind[] = [...fleetKinds, ...trustKinds, ...connectKinds, ...accountKinds];

/** What is done without a record: something is made, or a page is opened on which it is done. */
export const unboundOperations = async (): Promise<readonly Operation<Chosen>[]> =>
  (
    await Promise.all([
      import("../../operations/settings.tsx").then(({ pageOperations }) => pageOperations),
      import("../../operations/own-account.tsx").then(({ changeOwnName, changePassword }) => [
        changeOwnName,
        changePassword,
      ]),
      import("../../operations/sessions.tsx").then(({ endOtherSessions }) => [endOtherSessions]),
      import("../../operations/new-webhook.tsx").then(({ newWebhook }) => [newWebhook]),
      import("../../operations/new-event-type.tsx").then(({ newEventType }) => [newEventType]),
      import("../../operations/new-portal-link.tsx").then(({ newPortalLink }) => [newPortalLink]),
      import("../../operations/new-key.tsx").then(({ newKey }) => [newKey]),
      import("../../operations/new-principal.tsx").then(({ newPrincipal }) => [newPrincipal]),
      import("../../operations/new-enrollment-key.tsx").then(({ newEnrollmentKey }) => [newEnrollmentKey]),
      import("../../operations/new-group.tsx").then(({ newGroup }) => [newGroup]),
      import("../../operations/new-site.tsx").then(({ newSite }) => [newSite]),
      import("../../operations/new-organization.tsx").then(({ newOrganization }) => [newOrganization]),
      import("../../operations/new-partner.tsx").then(({ newPartner }) => [newPartner]),
      import("../../operations/new-role.tsx").then(({ newRole }) => [newRole]),
      import("../../operations/invite-user.tsx").then(({ inviteUser }) => [inviteUser]),
      import("../../operations/new-provider.tsx").then(({ newProvider }) => [newProvider]),
      import("../../operations/claim-domain.tsx").then(({ claimDomain }) => [claimDomain]),
      import("../../operations/new-directory.tsx").then(({ newDirectory }) => [newDirectory]),
      import("../../operations/new-alert.tsx").then(({ newAlert }) => [newAlert]),
      import("../../operations/new-stream.tsx").then(({ newStream }) => [newStream]),
      import("../../operations/new-export.tsx").then(({ newExport }) => [newExport]),
      import("../../operations/rollout-templates.tsx").then(({ newTemplate }) => [newTemplate]),
      import("../../operations/publish-version.tsx").then(({ publishVersion }) => [publishVersion]),
      import("../../operations/sync-version.tsx").then(({ syncVersion }) => [syncVersion]),
    ])
  ).flat();
