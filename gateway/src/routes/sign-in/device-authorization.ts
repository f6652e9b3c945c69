import { z } from "zod";
import { type Route, route } from "../../route/route.ts";
import { nameIn, success, timeOf, timeOut } from "../fields/schemas.ts";
import { signedIn, signedInOf } from "./auth.ts";

const tag = "Sessions";

const userCode = z
  .string()
  .min(1)
  .max(64)
  .meta({ description: "As the client shows it; case and hyphens do not matter." });
const example = { userCode: "WDJB-MJHT" };

const begin = route({
  method: "POST",
  path: "/auth/device",
  access: { auth: "none" },
  tag,
  summary: "Begin the sign-in of a client without a browser",
  description:
    "The device authorization grant (RFC 8628): the client shows `verificationUrl` and `userCode`, the user signs in there " +
    "and enters the code, and the client asks POST /auth/device/token meanwhile. The codes are valid for 10 minutes.",
  body: z.object({
    clientName: nameIn.meta({ description: "What the user's list of sessions and the audit trail call the client." }),
  }),
  example: { clientName: "muster on laptop" },
  noStore: true,
  reply: z
    .object({
      deviceCode: z.string(),
      userCode: z.string(),
      verificationUrl: z.string(),
      expiresInSeconds: z.int(),
      intervalSeconds: z.int().meta({ description: "Minimum seconds between two requests for the tokens." }),
    })
    .meta({ id: "DeviceAuthorization" }),
  errors: ["rate_limited"],
  async handle({ body, rpc }, { services, appUrl }) {
    const started = await services.deviceAuthorizations.beginDeviceAuthorization(body, await rpc());
    const { deviceCode, userCode, expiresInSeconds, intervalSeconds } = started;
    return { deviceCode, userCode, verificationUrl: `${appUrl}/activate`, expiresInSeconds, intervalSeconds };
  },
});

const complete = route({
  method: "POST",
  path: "/auth/device/token",
  access: { auth: "none" },
  tag,
  summary: "Complete the sign-in that a user has approved",
  description:
    "Until then 400 `authorization_pending`. A request before the interval is over is `slow_down`, and the interval is 5 " +
    "seconds longer from then on. A code returns tokens once.",
  body: z.object({ deviceCode: z.string().min(1).max(255) }),
  example: { deviceCode: "dev_…" },
  noStore: true,
  reply: signedIn,
  errors: ["authorization_pending", "slow_down", "expired_token", "access_denied", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    return signedInOf(await services.deviceAuthorizations.completeDeviceAuthorization(body, await rpc()));
  },
});

const find = route({
  method: "POST",
  path: "/auth/device/lookup",
  access: { auth: "session" },
  tag,
  summary: "The client that waits under a code",
  description:
    "For the page that asks the user whether they started it. After 10 wrong codes an address waits 5 minutes.",
  body: z.object({ userCode }),
  example,
  noStore: true,
  reply: z
    .object({
      clientName: z.string(),
      ipAddress: z.string().nullable().meta({ description: "Address from which the client began the sign-in." }),
      createdAt: timeOut,
      expiresAt: timeOut,
    })
    .meta({ id: "WaitingClient" }),
  errors: ["invalid_user_code", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    const found = await services.deviceAuthorizations.findDeviceAuthorization(body, await rpc());
    return {
      clientName: found.clientName,
      ipAddress: found.ipAddress || null,
      createdAt: timeOf(found.createdAt),
      expiresAt: timeOf(found.expiresAt),
    };
  },
});

const approve = route({
  method: "POST",
  path: "/auth/device/approve",
  audit: "user.device.approve",
  access: { auth: "session" },
  tag,
  summary: "Let the client sign in as the caller",
  description:
    "A caller with a second factor must have completed it in this session within the last 5 minutes. The session of the " +
    "client is the caller's own: listed, and revoked like all others.",
  body: z.object({ userCode }),
  example,
  noStore: true,
  reply: success,
  errors: ["invalid_user_code", "mfa_required", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    await services.deviceAuthorizations.approveDeviceAuthorization(body, await rpc());
    return { success: true as const };
  },
});

const deny = route({
  method: "POST",
  path: "/auth/device/deny",
  audit: "user.device.deny",
  access: { auth: "session" },
  tag,
  summary: "Refuse the client",
  body: z.object({ userCode }),
  example,
  noStore: true,
  reply: success,
  errors: ["invalid_user_code", "rate_limited"],
  async handle({ body, rpc }, { services }) {
    await services.deviceAuthorizations.denyDeviceAuthorization(body, await rpc());
    return { success: true as const };
  },
});

export const deviceAuthorizationRoutes: readonly Route[] = [begin, complete, find, approve, deny];
