import { idempotencyKeyHeader } from "../http/idempotency-key.ts";

/** Introduction of the OpenAPI document: credentials, errors, lists, repeats, limits. */
export const description = `
Control plane for fleets of managed devices. All paths are relative to the address that served this document.

## Get an access token
\`POST /api/v1/auth/login\` with \`{"email", "password"}\` returns \`accessToken\` (15 minutes) and \`refreshToken\`. Send the access token as
\`Authorization: Bearer <accessToken>\`. Before it expires, \`POST /api/v1/auth/refresh\` with \`{"refreshToken"}\` returns the next pair; each
refresh token is valid for one use.

## Complete MFA
An account with a second factor gets \`{"mfaRequired": true, "mfaToken", "methods"}\` from the login instead of tokens. \`POST /api/v1/auth/mfa/verify\`
with \`{"mfaToken", "code"}\` (a TOTP or recovery code) completes the sign-in; \`POST /api/v1/auth/mfa/passkeys/authenticate/options\` and \`…/verify\` do so with a
passkey. Operations whose \`x-access.mfa\` is true answer 403 \`mfa_required\` until the session has completed a challenge:
\`POST /api/v1/auth/mfa/verify\` with \`{"code"}\` and the access token does that. An account without a factor enrolls one with
\`POST /api/v1/auth/mfa/totp/setup\` and \`…/enable\`.

## Use an API key
\`POST /api/v1/api-keys\` returns the key once, in \`key\`. Send it as \`X-API-Key: svc_…\`. A key may call the operations that list \`x-access.keyScopes\`, if it
holds one of these scopes. When a key and an access token are both present, the key decides, also when
it is refused: the audit row and the rate headers are the key's.

## Access
\`x-access\` of each operation lists what the caller needs: \`auth\` (\`none\`, \`optional\`, \`session\`, \`any\`, \`agent\`), \`permission\` of the user's role, \`mfa\`,
\`scopes\` (\`system\`, \`partner\`, \`organization\`: the caller's scope), \`keyScopes\` (null: API keys are refused), \`portal\` (capability of a portal session; null: answered with 404) and
\`allSites\` (users who are limited to some sites are refused). \`x-effects\` lists what is better confirmed first: \`destroys\` (it ends, replaces or
withdraws something), \`reveals\` (the reply shows a secret, this once).

## Errors
Every error has the body \`{"error", "code", "requestId"}\`: \`code\` is stable, for programs; \`error\` is a text for people. The codes of an operation are listed per status. Code
\`validation_failed\` has \`details.fieldErrors\`: all errors of the request, by dotted field path.

## Lists
\`page\` and \`limit\` choose a page. \`pagination.nextCursor\`, sent as \`cursor\`, returns the following page and stays correct while rows are added.
With another filter, list or organization it is refused: \`cursor_mismatch\`.
\`skipCount=true\` omits the total and is faster.

## Repeat safely
Operations with the header \`${idempotencyKeyHeader}\` answer a repeat with the stored reply for 24 hours. A reply 429 or 503 has \`Retry-After\` in seconds.

## Limits
Authenticated replies have \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (seconds since 1970) for the hourly limit of the caller.
`.trim();

export const license = { name: "Apache-2.0", identifier: "Apache-2.0" };

export const securitySchemes = {
  session: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "Access token of a user, from `POST /api/v1/auth/login` or `POST /api/v1/auth/refresh`.",
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "X-API-Key",
    description:
      "API key of a program: `svc_` and 32 characters, from `POST /api/v1/api-keys`. `Authorization` is not read beside it.",
  },
  agent: {
    type: "http",
    scheme: "bearer",
    description: "Token of an agent, from `POST /api/v1/agents/enroll`.",
  },
  directory: {
    type: "http",
    scheme: "bearer",
    description: "Token of a directory: `scim_` and 43 characters, from `POST /api/v1/directories`.",
  },
};
