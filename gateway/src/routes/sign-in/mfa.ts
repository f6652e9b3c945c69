import { AppError } from "@muster/kit";
import { z } from "zod";
import { checkOrigin, cookieAnswer, sessionIn, withTokens } from "../../http/session-cookie.ts";
import { type Route, route } from "../../route/route.ts";
import { success } from "../fields/schemas.ts";
import { signedIn, signedInOf } from "./auth.ts";

const tag = "Sessions";

const password = z.string().min(1).max(1_024);
const totpCode = z.string().regex(/^\s*\d{3}\s?\d{3}\s*$/, "A code of six digits");
const recoveryCodesOut = z.object({ recoveryCodes: z.array(z.string()) }).meta({ id: "IssuedRecoveryCodes" });
const anyCode = z.string().min(1).max(64).meta({ description: "TOTP or recovery code." });

const verify = route({
  method: "POST",
  path: "/auth/mfa/verify",
  audit: "user.mfa.verify",
  load: "vital",
  access: { auth: "optional" },
  tag,
  summary: "Complete a sign-in with a second factor, or step a session up",
  description:
    "With `mfaToken` its sign-in is completed. Without it the caller's own session counts as having completed a " +
    "second factor; its refresh token stays the same.",
  body: z.object({ mfaToken: z.string().min(1).max(255).optional(), code: anyCode, session: sessionIn }),
  example: { mfaToken: "mfa_…", code: "123456" },
  noStore: true,
  answers: cookieAnswer,
  reply: signedIn,
  errors: [
    "unauthenticated",
    "invalid_mfa_token",
    "invalid_mfa_code",
    "mfa_not_enabled",
    "rate_limited",
    "cross_origin",
  ],
  async handle(request, { services, sessions, publicUrl }) {
    const { body, session, rpc } = request;
    if (body.session) checkOrigin(request);
    const mfaToken = body.mfaToken ?? "";
    if (mfaToken === "" && session === null) throw new AppError("unauthenticated", "Authentication is required");
    const reply = signedInOf(await services.mfa.verifyMfa({ mfaToken, code: body.code }, await rpc()));
    if (mfaToken === "") sessions.forget((other) => other.id === session?.id);
    return withTokens(reply, body.session, { publicUrl });
  },
});

/** Empty for people without a password whose session an identity provider has just begun. */
const ownPassword = z.string().max(1_024).meta({
  description:
    "May be empty within ten minutes of a sign-in through an identity provider for users without a password.",
});

const setup = route({
  method: "POST",
  path: "/auth/mfa/totp/setup",
  audit: "user.mfa.setup",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "Start TOTP enrollment",
  body: z.object({ password: ownPassword }),
  noStore: true,
  reply: z
    .object({
      secret: z.string().meta({ description: "Shared secret, in base 32." }),
      otpauthUrl: z.string(),
      qrCodeDataUrl: z.string().meta({ description: "QR code of the secret, a PNG as data: URL." }),
    })
    .meta({ id: "TotpEnrollment" }),
  errors: ["invalid_credentials", "mfa_already_enabled", "mfa_required", "rate_limited", "overloaded"],
  async handle({ body, rpc }, { services }) {
    const { secret, otpauthUrl, qrCodeDataUrl } = await services.mfa.setupTotp(body, await rpc());
    return { secret, otpauthUrl, qrCodeDataUrl };
  },
});

const enable = route({
  method: "POST",
  path: "/auth/mfa/totp/enable",
  audit: "user.mfa.enable",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "Confirm TOTP enrollment with a first code",
  description:
    "Counts as a completed challenge of this session. The first factor of any kind also returns recovery codes, which are shown only once.",
  body: z.object({ code: totpCode }),
  example: { code: "123456" },
  noStore: true,
  reply: recoveryCodesOut,
  errors: ["invalid_mfa_code", "mfa_already_enabled", "mfa_not_enabled", "mfa_required", "rate_limited"],
  async handle({ body, session, rpc }, { services, sessions }) {
    const { recoveryCodes } = await services.mfa.enableTotp(body, await rpc());
    sessions.forget(({ principal }) => principal.userId === session.principal.userId);
    return { recoveryCodes };
  },
});

const disable = route({
  method: "POST",
  path: "/auth/mfa/totp/disable",
  audit: "user.mfa.disable",
  access: { auth: "session" },
  tag,
  summary: "Remove TOTP; the recovery codes go with the last factor",
  body: z.object({ password, code: anyCode }),
  example: { password: "correct horse battery staple", code: "123456" },
  noStore: true,
  reply: success,
  errors: ["invalid_credentials", "invalid_mfa_code", "mfa_not_enabled", "rate_limited", "overloaded"],
  async handle({ body, session, rpc }, { services, sessions }) {
    await services.mfa.disableTotp(body, await rpc());
    sessions.forget(({ principal }) => principal.userId === session.principal.userId);
    return { success: true as const };
  },
});

const factors = route({
  method: "GET",
  path: "/auth/mfa",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "The caller's own second factors",
  noStore: true,
  reply: z
    .object({
      totp: z.boolean().meta({ description: "Whether an authenticator app is enrolled." }),
      passkeys: z.int(),
      recoveryCodes: z.int().meta({ description: "Number of unused codes." }),
    })
    .meta({ id: "Factors" }),
  async handle({ rpc }, { services }) {
    const { totp, passkeys, recoveryCodes } = await services.mfa.getFactors({}, await rpc());
    return { totp, passkeys, recoveryCodes };
  },
});

const rotateCodes = route({
  method: "POST",
  path: "/auth/mfa/recovery-codes",
  audit: "user.recovery_codes.rotate",
  access: { auth: "session", mfa: true },
  tag,
  summary: "Create new recovery codes",
  description: "Shown only once; earlier codes stop working.",
  noStore: true,
  reply: recoveryCodesOut,
  errors: ["mfa_not_enabled"],
  async handle({ rpc }, { services }) {
    const { recoveryCodes } = await services.mfa.rotateRecoveryCodes({}, await rpc());
    return { recoveryCodes };
  },
});

export const mfaRoutes: readonly Route[] = [verify, setup, enable, disable, factors, rotateCodes];
