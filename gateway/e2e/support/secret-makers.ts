import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Secret as Base32 } from "otpauth";
import { type Api, api } from "./client.ts";
import { type Cluster, receiverHost } from "./cluster.ts";
import { noteSecret } from "./handed-out.ts";
import { startIdp } from "./identity-provider.ts";
import { newKey } from "./keys.ts";
import { codeOf, loginFlow, loginUrl, newProvider, newSamlProvider, setStatus, upToAnswer } from "./login-flow.ts";
import { startSamlIdp } from "./saml-identity-provider.ts";
import { enrollTotp, signedInAs, tokenOf } from "./users.ts";
import { formIn, newVisitor } from "./visitor.ts";

export type Stage = {
  cluster: Cluster;
  /** A platform administrator whose second factor counts. */
  root: Api;
  orgId: string;
};

/**
 * One of each kind of secret that the product has. Secrets in requests and replies are noted by the client
 * (handed-out.ts); what has another form than the client's, such as a TOTP secret's bytes, is noted here. A new kind of
 * secret gets an entry, and with it the searches of database dump, message store, logs and traces.
 */
export const secretMakers: Record<string, (stage: Stage) => Promise<void>> = {
  "password, access token and refresh token of a session": async ({ cluster }) => {
    const user = await signedInAs(cluster, "platform-admin");
    await answered(user.api, "/auth/refresh", { refreshToken: user.refreshToken });
  },
  "TOTP secret, recovery codes, mfaToken": async ({ cluster }) => {
    const user = await signedInAs(cluster, "platform-admin");
    const { secret, recoveryCodes } = await enrollTotp(user);
    noteSecret(cluster, { name: "TOTP secret's bytes", value: Buffer.from(Base32.fromBase32(secret).bytes) });
    for (const code of recoveryCodes) noteSecret(cluster, { name: "recovery code", value: code.replaceAll("-", "") });
    const { mfaToken } = await answered(user.api, "/auth/login", { email: user.email, password: user.password });
    await answered(user.api, "/auth/mfa/verify", { mfaToken, code: recoveryCodes[0] });
  },
  "invitation that nobody has taken": async ({ cluster, root }) => {
    const { data } = (await root.call("GET", "/roles")).body as unknown as { data: { id: string; key: string }[] };
    const roleId = data.find(({ key }) => key === "platform-admin")?.id;
    const wanted = { email: `invited-${randomUUID()}@example.com`, name: "Invited", roleId };
    const { inviteUrl } = await answered(root, "/users", wanted, { "idempotency-key": randomUUID() });
    noteSecret(cluster, { name: "invitation", value: tokenOf(inviteUrl) });
  },
  "API key, one rotated with grace, one whose reply is stored": async ({ root, orgId }) => {
    const { id } = await newKey(root, orgId);
    await answered(root, `/api-keys/${id}/rotate`, { graceSeconds: 600 });
    await answered(root, "/api-keys", { orgId, name: "Stored", scopes: [] }, { "idempotency-key": randomUUID() });
  },
  "enrollment key, and one rotated": async ({ root, orgId }) => {
    const { id } = await answered(root, "/enrollment-keys", { orgId, name: "Fleet" });
    await answered(root, `/enrollment-keys/${id}/rotate`, {});
  },
  "key of a service principal, and one rotated": async ({ root, orgId }) => {
    const wanted = { orgId, name: "Principal", scopes: ["devices:read"] };
    const { id } = await answered(root, "/service-principals", wanted, { "idempotency-key": randomUUID() });
    await answered(root, `/service-principals/${id}/rotate`, {});
  },
  "token of a directory, and one rotated": async ({ root, orgId }) => {
    const { id } = await answered(
      root,
      "/directories",
      { orgId, name: "Directory" },
      { "idempotency-key": randomUUID() },
    );
    await answered(root, `/directories/${id}/tokens`, {}, { "idempotency-key": randomUUID() });
  },
  "a webhook's URL with credentials, headers and secrets, and one rotated": async ({ cluster, root, orgId }) => {
    const [userinfo, token, header] = [randomUUID(), randomUUID(), randomUUID()];
    const url = `https://user:${userinfo}@${receiverHost}:${await anyReceiverPort(cluster)}/hook?token=${token}`;
    const headers = [{ key: "X-Key", value: header }];
    const secret = `secret of a webhook ${randomUUID()}`;
    for (const [name, value] of Object.entries({ userinfo, token, header, secret })) {
      noteSecret(cluster, { name: `webhook's ${name}`, value });
    }
    const wanted = { orgId, name: "Hook", url, headers, secret, events: ["*"] };
    const { id } = await answered(root, "/webhooks", wanted, { "idempotency-key": randomUUID() });
    await answered(root, `/webhooks/${id}/rotate-secret`, {}, { "idempotency-key": randomUUID() });
    await answered(root, `/webhooks/${id}/test`, {});
  },
  "a provider's client secret, and one that was replaced": async ({ cluster, root, orgId }) => {
    const [first, second] = [`client secret ${randomUUID()}`, `client secret ${randomUUID()}`];
    for (const value of [first, second]) noteSecret(cluster, { name: "client secret of a provider", value });
    const wanted = { orgId, name: "Provider", type: "oidc", clientId: "muster", clientSecret: first };
    const { id } = await answered(root, "/sso/providers", wanted, { "idempotency-key": randomUUID() });
    const changed = await root.call("PATCH", `/sso/providers/${id}`, { clientSecret: second });
    if (changed.status !== 200) throw new Error(`a new client secret answered ${changed.status}`);
  },
  "state, nonce, verifiers, codes and tokens of a sign-in through a provider": async ({ cluster, root, orgId }) => {
    const idp = await startIdp(cluster);
    try {
      const provider = await newProvider(root, idp, { orgId });
      idp.become({ sub: randomUUID(), email: `${randomUUID()}@sso.example`, email_verified: true, name: "Ada" });
      noteSecret(cluster, { name: "client secret of a provider in use", value: idp.secret });
      idp.tampers.set("/token", (body) => {
        const tokens = { ...body, refresh_token: randomUUID() };
        for (const name of ["access_token", "id_token", "refresh_token"] as const) {
          noteSecret(cluster, { name: `${name} of a provider`, value: String((tokens as typeof body)[name]) });
        }
        return tokens;
      });
      const { visitor, callback } = await upToAnswer(cluster, orgId);
      for (const [name, value] of new URL(callback).searchParams) {
        if (name === "state" || name === "code") noteSecret(cluster, { name: `${name} of a callback`, value });
      }
      const code = codeOf(await visitor.get(callback));
      noteSecret(cluster, { name: "exchange code", value: code });
      await answered(api(cluster), "/sso/exchange", { code });
      // A handle that is not fetched, and a login flow that is not completed, stay in the database.
      noteSecret(cluster, { name: "exchange code", value: codeOf(await loginFlow(cluster, orgId)) });
      const waiting = new URL((await newVisitor().get(loginUrl(cluster, orgId))).location ?? "");
      for (const name of ["state", "nonce"]) noteSecret(cluster, { name, value: waiting.searchParams.get(name) ?? "" });
      for (const value of idp.verifiers) noteSecret(cluster, { name: "PKCE verifier", value });
      await setStatus(root, provider.id, "inactive");
    } finally {
      await idp.close();
    }
  },
  "a SAML response and its handle": async ({ cluster, root, orgId }) => {
    const idp = await startSamlIdp(cluster);
    try {
      await newSamlProvider(root, idp, { orgId });
      idp.become({ nameId: "ada@sso.example", email: "ada@sso.example", name: "Ada" });
      const { visitor, last } = await upToAnswer(cluster, orgId);
      const form = formIn(last);
      const response = form?.fields.get("SAMLResponse") ?? "";
      noteSecret(cluster, { name: "SAML response", value: response });
      const [assertion = ""] =
        /<saml:Assertion .*<\/saml:Assertion>/s.exec(Buffer.from(response, "base64").toString()) ?? [];
      noteSecret(cluster, { name: "SAML assertion", value: assertion });
      const [signature = ""] = /(?<=<SignatureValue>)[^<]+/.exec(assertion) ?? [];
      noteSecret(cluster, { name: "signature of a SAML assertion", value: signature });
      noteSecret(cluster, { name: "relay state", value: form?.fields.get("RelayState") ?? "" });
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const posted = await visitor.get(form?.action ?? "", { method: "POST", body: form?.body ?? "", headers });
      noteSecret(cluster, { name: "handle", value: new URL(posted.location ?? "").searchParams.get("saml") ?? "" });
      // Our own keys for providers never leave: their beginning is looked for.
      noteSecret(cluster, { name: "private key in PEM", value: "-----BEGIN PRIVATE KEY-----\nMII" });
    } finally {
      await idp.close();
    }
  },
  "an audit stream's URL and secret": async ({ cluster, root, orgId }) => {
    const token = randomUUID();
    noteSecret(cluster, { name: "audit stream's token", value: token });
    const url = `https://${receiverHost}:${await anyReceiverPort(cluster)}/in?token=${token}`;
    await answered(
      root,
      "/audit-logs/streams",
      { orgId, name: "SIEM", type: "webhook", url },
      { "idempotency-key": randomUUID() },
    );
  },
};

/** A port that webhooks may go to; it does not matter whether a server listens there. */
async function anyReceiverPort(cluster: Cluster): Promise<number> {
  const ports = JSON.parse(await readFile(join(dirname(cluster.dataDir), "receivers.json"), "utf8")) as number[];
  return ports.at(-1) ?? 0;
}

async function answered(by: Api, path: string, body: object, headers: Record<string, string> = {}) {
  const reply = await by.call("POST", path, body, headers);
  if (reply.status >= 300) throw new Error(`POST ${path} answered ${reply.status}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}
