import { AppError } from "@muster/kit";
import type { Passkey } from "@muster/proto/muster/identity/v1/passkey_pb";
import { z } from "zod";
import { checkOrigin, cookieAnswer, sessionIn, withTokens } from "../../http/session-cookie.ts";
import { type Route, route } from "../../route/route.ts";
import {
  idOut,
  idParams,
  nameIn,
  objectOf,
  objectOut,
  success,
  timeOf,
  timeOrNull,
  timeOut,
} from "../fields/schemas.ts";
import { signedIn, signedInOf } from "./auth.ts";

const tag = "Sessions";

const passkey = z
  .object({
    id: idOut,
    name: z.string(),
    transports: z
      .array(z.string())
      .meta({ description: "Transports of the authenticator, as the browser reported them." }),
    backedUp: z.boolean().meta({ description: "Whether its provider copies it between devices." }),
    createdAt: timeOut,
    lastUsedAt: timeOut.nullable(),
  })
  .meta({ id: "Passkey" });

const mfaToken = z.string().min(1).max(255).optional();
/** The browser's `credential.toJSON()`; identity verifies each byte of it. */
const credential = z
  .looseObject({
    id: z.string().min(1).max(2_048),
    rawId: z.string().min(1).max(2_048),
    type: z.literal("public-key"),
    response: z.looseObject({ clientDataJSON: z.string().min(1).max(16_384) }),
  })
  .meta({ description: "The credential as the browser's `toJSON()` returns it." });

const registerOptions = route({
  method: "POST",
  path: "/auth/mfa/passkeys/register/options",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "Options for creating a passkey",
  description:
    "For `navigator.credentials.create()`. The challenge is valid once, for 5 minutes. A user with a factor must have " +
    "completed it in this session.",
  body: z.object({
    password: z.string().max(1_024).meta({
      description:
        "May be empty within ten minutes of a sign-in through an identity provider for users without a password.",
    }),
  }),
  noStore: true,
  reply: objectOut.meta({ description: "The `PublicKeyCredentialCreationOptionsJSON` of WebAuthn." }),
  errors: ["invalid_credentials", "mfa_required", "limit_reached", "rate_limited", "overloaded"],
  async handle({ body, rpc }, { services }) {
    return objectOf((await services.passkeys.beginRegistration(body, await rpc())).optionsJson);
  },
});

const registerVerify = route({
  method: "POST",
  path: "/auth/mfa/passkeys/register/verify",
  audit: "user.passkey.create",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "Register the created passkey",
  description:
    "Counts as a completed challenge of this session. The first factor of any kind also returns recovery codes, which are shown only once.",
  body: z.object({ credential, name: nameIn.optional() }),
  noStore: true,
  reply: passkey
    .extend({
      recoveryCodes: z.array(z.string()).optional().meta({ description: "Returned with the first factor only." }),
    })
    .meta({ id: "RegisteredPasskey" }),
  errors: ["invalid_passkey", "mfa_required"],
  async handle({ body, session, rpc }, { services, sessions }) {
    const wanted = { credentialJson: JSON.stringify(body.credential), name: body.name ?? "" };
    const { passkey: made, recoveryCodes } = await services.passkeys.finishRegistration(wanted, await rpc());
    sessions.forget(({ principal }) => principal.userId === session.principal.userId);
    return { ...passkeyOf(made), ...(recoveryCodes.length > 0 ? { recoveryCodes } : {}) };
  },
});

const authenticateOptions = route({
  method: "POST",
  path: "/auth/mfa/passkeys/authenticate/options",
  access: { auth: "optional" },
  tag,
  load: "vital",
  summary: "Options for using a passkey",
  description:
    "For `navigator.credentials.get()`: with `mfaToken` to complete a sign-in, without it to step the caller's session up.",
  body: z.object({ mfaToken }),
  noStore: true,
  reply: objectOut.meta({ description: "The `PublicKeyCredentialRequestOptionsJSON` of WebAuthn." }),
  errors: ["unauthenticated", "invalid_mfa_token", "mfa_not_enabled"],
  async handle({ body, session, rpc }, { services }) {
    const wanted = { mfaToken: tokenOf(body.mfaToken, session) };
    return objectOf((await services.passkeys.beginAuthentication(wanted, await rpc())).optionsJson);
  },
});

const authenticateVerify = route({
  method: "POST",
  path: "/auth/mfa/passkeys/authenticate/verify",
  audit: "user.mfa.verify",
  access: { auth: "optional" },
  tag,
  load: "vital",
  summary: "Complete a sign-in, or step a session up, with a passkey",
  body: z.object({ mfaToken, credential, session: sessionIn }),
  noStore: true,
  answers: cookieAnswer,
  reply: signedIn,
  errors: [
    "unauthenticated",
    "invalid_mfa_token",
    "invalid_passkey",
    "mfa_not_enabled",
    "rate_limited",
    "cross_origin",
  ],
  async handle(request, { services, sessions, publicUrl }) {
    const { body, session, rpc } = request;
    if (body.session) checkOrigin(request);
    const token = tokenOf(body.mfaToken, session);
    const wanted = { mfaToken: token, credentialJson: JSON.stringify(body.credential) };
    const reply = signedInOf(await services.passkeys.finishAuthentication(wanted, await rpc()));
    if (token === "") sessions.forget((other) => other.id === session?.id);
    return withTokens(reply, body.session, { publicUrl });
  },
});

const list = route({
  method: "GET",
  path: "/auth/mfa/passkeys",
  access: { auth: "session", beforeSecondFactor: true },
  tag,
  summary: "The caller's own passkeys, oldest first",
  noStore: true,
  reply: z.object({ data: z.array(passkey) }),
  async handle({ rpc }, { services }) {
    return { data: (await services.passkeys.listPasskeys({}, await rpc())).passkeys.map(passkeyOf) };
  },
});

const rename = route({
  method: "PATCH",
  path: "/auth/mfa/passkeys/:id",
  audit: "user.passkey.update",
  access: { auth: "session" },
  tag,
  summary: "Rename one of the caller's own passkeys",
  params: idParams,
  body: z.object({ name: nameIn }),
  noStore: true,
  reply: passkey,
  errors: ["passkey_not_found"],
  async handle({ params, body, rpc }, { services }) {
    return passkeyOf((await services.passkeys.renamePasskey({ ...params, ...body }, await rpc())).passkey);
  },
});

const remove = route({
  method: "DELETE",
  path: "/auth/mfa/passkeys/:id",
  audit: "user.passkey.delete",
  access: { auth: "session", mfa: true },
  tag,
  summary: "Remove one of the caller's own passkeys",
  description:
    "Deleting the last factor also deletes the recovery codes, and no session counts as having completed a challenge any more.",
  params: idParams,
  noStore: true,
  reply: success,
  errors: ["passkey_not_found"],
  async handle({ params, session, rpc }, { services, sessions }) {
    await services.passkeys.deletePasskey(params, await rpc());
    sessions.forget(({ principal }) => principal.userId === session.principal.userId);
    return { success: true as const };
  },
});

function tokenOf(token: string | undefined, session: unknown): string {
  if (token === undefined && session === null) throw new AppError("unauthenticated", "Authentication is required");
  return token ?? "";
}

function passkeyOf(message: Passkey | undefined): z.input<typeof passkey> {
  if (!message) throw new Error("identity answered without a passkey");
  const { id, name, transports, backedUp } = message;
  const times = { createdAt: timeOf(message.createdAt), lastUsedAt: timeOrNull(message.lastUsedAt) };
  return { id, name, transports, backedUp, ...times };
}

export const passkeyRoutes: readonly Route[] = [
  registerOptions,
  registerVerify,
  authenticateOptions,
  authenticateVerify,
  list,
  rename,
  remove,
];
