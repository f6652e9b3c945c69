import {
  ClockArrowUp,
  Handshake,
  History,
  KeyRound,
  Laptop,
  MonitorCheck,
  Palette,
  Rocket,
  ShieldCheck,
} from "lucide-react";
import { to } from "../parts/links.ts";
import type { Chosen } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

export const newRollout: Operation<Chosen> = {
  id: "rollout.make",
  verb: "New rollout",
  needs: "POST /api/v1/agent-versions/rollouts",
  icon: Rocket,
  shown: "primary",
  leads: () => to("/releases/new-rollout"),
  forgets: [],
};

/** What is done on a page of its own. */
export const pageOperations: readonly Operation<Chosen>[] = [
  {
    id: "device.add",
    verb: "Add devices",
    alsoCalled: ["New device", "Enroll devices"],
    needs: "POST /api/v1/enrollment-keys",
    icon: Laptop,
    leads: ({ orgId }) => to("/devices/add", { orgId }),
    forgets: [],
  },
  newRollout,
  {
    id: "retention.change",
    verb: "Change the retention",
    needs: "PATCH /api/v1/audit-logs/retention",
    icon: History,
    leads: ({ orgId }) => to("/audit/retention", { orgId }),
    forgets: [],
  },
  {
    id: "own-partner.change",
    verb: "Change your partner",
    needs: "PATCH /api/v1/orgs/partners/me",
    icon: Handshake,
    leads: () => to("/settings/partner"),
    forgets: [],
  },
  {
    id: "own-partner.updates",
    verb: "Change agent updates",
    needs: "PUT /api/v1/orgs/partners/me/agent-updates",
    icon: ClockArrowUp,
    leads: () => to("/settings/partner"),
    forgets: [],
  },
  {
    id: "own-organization.updates",
    verb: "Change agent updates of the organization",
    alsoCalled: ["Hold updates", "Pause updates"],
    needs: "PUT /api/v1/orgs/organizations/{id}/agent-updates",
    icon: ClockArrowUp,
    leads: ({ orgId }) => to("/settings/organization", { orgId }),
    forgets: [],
  },
  {
    id: "sign-in-policy.change",
    verb: "Require a second factor",
    alsoCalled: ["Sign-in policy", "Enforce MFA"],
    needs: "PUT /api/v1/orgs/organizations/{id}/sign-in-policy",
    icon: ShieldCheck,
    leads: ({ orgId }) => to("/settings/sign-in", { orgId }),
    forgets: [],
  },
  {
    id: "own-partner.sign-in-policy",
    verb: "Require a second factor of the partner",
    needs: "PUT /api/v1/orgs/partners/me/sign-in-policy",
    icon: KeyRound,
    leads: () => to("/settings/sign-in"),
    forgets: [],
  },
  {
    id: "branding.change",
    verb: "Change the branding",
    needs: "PUT /api/v1/partners/me/login-branding",
    icon: Palette,
    leads: () => to("/settings/branding"),
    forgets: [],
  },
  {
    id: "client.activate",
    verb: "Activate a command line",
    alsoCalled: ["Sign in a command line"],
    needs: "POST /api/v1/auth/device/approve",
    icon: MonitorCheck,
    leads: () => to("/activate"),
    forgets: [],
  },
];
