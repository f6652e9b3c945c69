import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { freePort } from "@muster/local";
import { testCertificate, until } from "@muster/testing";
import { api } from "../support/client.ts";
import { receiverHost } from "../support/cluster.ts";
import { verifiedDomain } from "../support/dns.ts";
import { codeOf, loginUrl, type ProviderBody, publicUrl, setStatus } from "../support/login-flow.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { claimReceiverPort } from "../support/receiver.ts";
import { newDirectory } from "../support/scim.ts";
import { roleId } from "../support/users.ts";
import { newVisitor, unescaped } from "../support/visitor.ts";

// A real Keycloak, started by deploy/sso/keycloak and not by `npm test`: KEYCLOAK_HOME is the folder of its server.
const home = process.env.KEYCLOAK_HOME ?? "";
const admin = { user: "admin", password: randomUUID() };
const realm = "muster";
/** Its API answers 406 to a client that requests pages. */
const json = { headers: { accept: "application/json" } };
const password = "a password for tests only";

const { cluster, tenant } = ownTenant();
const domain = `${randomUUID()}.example`;
let keycloak: Awaited<ReturnType<typeof startKeycloak>>;
let oidc: ProviderBody;
let saml: ProviderBody;
beforeAll(async () => {
  keycloak = await startKeycloak();
  await keycloak.asAdmin("POST", "/admin/realms", { realm, enabled: true });
  const by = tenant.admin.api;
  await verifiedDomain(cluster, by, domain);
  oidc = await newOidc();
  saml = await newSaml();
}, 400_000);
afterAll(async () => keycloak?.close(), 60_000);

async function startKeycloak() {
  const { port, release } = await claimReceiverPort(cluster);
  const folder = await mkdtemp(join(tmpdir(), "muster-keycloak-"));
  const { cert, key } = testCertificate();
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  await writeFile(certFile, String(cert));
  await writeFile(keyFile, String(key));
  const output = await open(join(folder, "keycloak.log"), "a");
  const origin = `https://${receiverHost}:${port}`;
  const args = [
    "start-dev",
    "--db=dev-mem",
    `--hostname=${origin}`,
    `--https-port=${port}`,
    `--http-port=${await freePort()}`,
    `--http-management-port=${await freePort()}`,
    `--https-certificate-file=${certFile}`,
    `--https-certificate-key-file=${keyFile}`,
  ];
  const child = spawn(join(home, "bin", "kc.sh"), args, {
    detached: true,
    stdio: ["ignore", output.fd, output.fd],
    env: {
      ...process.env,
      KEYCLOAK_ADMIN: admin.user,
      KEYCLOAK_ADMIN_PASSWORD: admin.password,
      JAVA_OPTS_KC_HEAP: "-Xms64m -Xmx640m",
    },
  });
  await output.close();
  let ended = false;
  child.once("exit", () => {
    ended = true;
  });
  const visitor = newVisitor();
  const answers = async () => {
    if (ended)
      throw new Error(`Keycloak ended: ${(await readFile(join(folder, "keycloak.log"), "utf8")).slice(-3_000)}`);
    return (await visitor.get(`${origin}/realms/master`, json).catch(() => null))?.status === 200;
  };
  await until("Keycloak", answers, 300_000);
  const form = new URLSearchParams({
    grant_type: "password",
    client_id: "admin-cli",
    username: admin.user,
    password: admin.password,
  });
  const asAdmin = async (method: string, path: string, body?: object) => {
    const token = await visitor.get(`${origin}/realms/master/protocol/openid-connect/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", ...json.headers },
      body: form.toString(),
    });
    const { access_token: bearer } = JSON.parse(token.text) as { access_token: string };
    const headers = {
      authorization: `Bearer ${bearer}`,
      "content-type": "application/json",
      ...json.headers,
    };
    const reply = await visitor.get(`${origin}${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (reply.status >= 300) throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`);
    return reply.text === "" ? {} : (JSON.parse(reply.text) as Record<string, unknown>);
  };
  return {
    origin,
    asAdmin,
    async close() {
      if (!ended) process.kill(-(child.pid as number), "SIGTERM");
      await until("Keycloak to stop", () => ended, 30_000);
      await rm(folder, { recursive: true });
      await release();
    },
  };
}

async function newOidc(): Promise<ProviderBody> {
  const secret = randomUUID();
  await keycloak.asAdmin("POST", `/admin/realms/${realm}/clients`, {
    clientId: "muster",
    secret,
    redirectUris: [`${publicUrl(cluster)}/api/v1/sso/callback`],
    standardFlowEnabled: true,
    directAccessGrantsEnabled: false,
    publicClient: false,
    protocolMappers: [groupsMapper("openid-connect", "oidc-group-membership-mapper", { "claim.name": "groups" })],
  });
  return made({ type: "oidc", issuer: `${keycloak.origin}/realms/${realm}`, clientId: "muster", clientSecret: secret });
}

async function newSaml(): Promise<ProviderBody> {
  const metadataUrl = `${keycloak.origin}/realms/${realm}/protocol/saml/descriptor`;
  const provider = await made({ type: "saml", samlMetadataUrl: metadataUrl });
  const claim = (name: string) => `http://schemas.xmlsoap.org/ws/2005/05/identity/claims/${name}`;
  const mapper = (property: string, name: string) => ({
    name,
    protocol: "saml",
    protocolMapper: "saml-user-property-mapper",
    config: { "user.attribute": property, "attribute.name": claim(name), "attribute.nameformat": "Basic" },
  });
  await keycloak.asAdmin("POST", `/admin/realms/${realm}/clients`, {
    clientId: provider.samlSpMetadataUrl,
    protocol: "saml",
    redirectUris: [provider.samlAcsUrl],
    attributes: {
      "saml.assertion.signature": "true",
      "saml.server.signature": "true",
      "saml.client.signature": "false",
      "saml.signature.algorithm": "RSA_SHA256",
      "saml.force.post.binding": "true",
      "saml.authnstatement": "true",
      saml_force_name_id_format: "true",
      saml_name_id_format: "email",
      saml_assertion_consumer_url_post: provider.samlAcsUrl,
    },
    protocolMappers: [
      mapper("email", "emailaddress"),
      mapper("firstName", "givenname"),
      mapper("lastName", "surname"),
      groupsMapper("saml", "saml-group-membership-mapper", { "attribute.name": "groups", single: "true" }),
    ],
  });
  return provider;
}

/** As docs/directory.md#keycloak has administrators add it. */
const groupsMapper = (protocol: string, protocolMapper: string, config: Record<string, string>) => ({
  name: "groups",
  protocol,
  protocolMapper,
  config: { ...config, "full.path": "false", "id.token.claim": "true", "userinfo.token.claim": "true" },
});

/** Makes a group of the realm; returns what puts users into it, and out of it. */
async function newGroup(name: string) {
  await keycloak.asAdmin("POST", `/admin/realms/${realm}/groups`, { name });
  const idIn = async (query: string) => {
    const [found] = (await keycloak.asAdmin("GET", `/admin/realms/${realm}/${query}`)) as unknown as { id: string }[];
    return found?.id ?? "";
  };
  const groupId = await idIn(`groups?search=${name}`);
  return async (method: "PUT" | "DELETE", email: string) => {
    const userId = await idIn(`users?email=${encodeURIComponent(email)}`);
    await keycloak.asAdmin(method, `/admin/realms/${realm}/users/${userId}/groups/${groupId}`);
  };
}

async function made(fields: object): Promise<ProviderBody> {
  const by = tenant.admin.api;
  const defaultRoleId = await roleId(by, "org-viewer");
  const created = await by.call("POST", "/sso/providers", {
    name: `Keycloak ${randomUUID()}`,
    defaultRoleId,
    ...fields,
  });
  if (created.status !== 201) throw new Error(`provider answered ${created.status}: ${JSON.stringify(created.body)}`);
  return created.body as ProviderBody;
}

/** The realm's keys are those of both protocols: a change for one of them is in the metadata. */
async function rereadMetadata(): Promise<void> {
  const reread = { samlMetadataUrl: saml.samlMetadataUrl };
  expect((await tenant.admin.api.call("PATCH", `/sso/providers/${saml.id}`, reread)).status).toBe(200);
}

async function newUser(): Promise<string> {
  const name = randomUUID().slice(0, 8);
  const email = `${name}@${domain}`;
  await keycloak.asAdmin("POST", `/admin/realms/${realm}/users`, {
    username: name,
    email,
    emailVerified: true,
    enabled: true,
    firstName: "Ada",
    lastName: "Lovelace",
    credentials: [{ type: "password", value: password, temporary: false }],
  });
  return email;
}

/** Signs in as a person does: by the page that Keycloak shows, or without it while its own session lives. */
async function signIn(email: string, visitor = newVisitor()) {
  const page = await visitor.follow(loginUrl(cluster, tenant.orgId));
  const action = /<form id="kc-form-login"[^>]*\baction="([^"]+)"/.exec(page.text)?.[1];
  let end = page;
  if (action !== undefined) {
    const body = new URLSearchParams({ username: email, password }).toString();
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    end = await visitor.followFrom(await visitor.get(unescaped(action), { method: "POST", headers, body }));
  }
  const { status, body } = await api(cluster).call("POST", "/sso/exchange", { code: codeOf(end) });
  expect(status).toBe(200);
  return { visitor, user: body.user as { id: string; email: string; name: string } };
}

describe.each(["oidc", "saml"] as const)("Keycloak by %s", (type) => {
  const provider = () => (type === "oidc" ? oidc : saml);
  beforeAll(async () => {
    if (type === "saml") await rereadMetadata();
    await setStatus(tenant.admin.api, provider().id, "active");
  });
  afterAll(() => setStatus(tenant.admin.api, provider().id, "inactive"));

  it("is tested as sign-in would use it", async () => {
    const tested = await tenant.admin.api.call("POST", `/sso/providers/${provider().id}/test`);
    expect([tested.status, tested.body.success]).toEqual([200, true]);
  });

  it("lets a new user in, and the same again", async () => {
    const email = await newUser();
    const first = await signIn(email);
    expect(first.user).toMatchObject({ email, name: "Ada Lovelace" });
    expect((await signIn(email, first.visitor)).user.id).toBe(first.user.id);
    expect((await signIn(email)).user.id).toBe(first.user.id);
  });

  it("changes its key during sign-ins, and none is refused", async () => {
    const emails = await Promise.all(Array.from({ length: 6 }, newUser));
    const { id: parentId } = await keycloak.asAdmin("GET", `/admin/realms/${realm}`);
    const component = {
      id: randomUUID(),
      name: `next ${type}`,
      providerId: "rsa-generated",
      providerType: "org.keycloak.keys.KeyProvider",
      parentId,
      config: { priority: ["1"], keySize: ["2048"], algorithm: ["RS256"], active: ["true"], enabled: ["true"] },
    };
    await keycloak.asAdmin("POST", `/admin/realms/${realm}/components`, component);
    // As the daily reading of the metadata does it, before the provider signs with the new key.
    if (type === "saml") await rereadMetadata();
    const config = { ...component.config, priority: ["1000"] };
    const [rotated] = await Promise.all([
      keycloak.asAdmin("PUT", `/admin/realms/${realm}/components/${component.id}`, { ...component, config }),
      ...emails.map((email) => signIn(email)),
    ]);
    expect(rotated).toEqual({});
    for (const email of emails) await signIn(email);
  });

  it("gives the role of a group that comes as a claim, and takes it at the next sign-in", async () => {
    const by = tenant.admin.api;
    const [viewer, adminRole] = [await roleId(by, "org-viewer"), await roleId(by, "org-admin")];
    const attributeMapping = { ...(provider().attributeMapping as object), groups: "groups" };
    expect((await by.call("PATCH", `/sso/providers/${provider().id}`, { attributeMapping })).status).toBe(200);
    const fields = { preset: "keycloak", providerId: provider().id, defaultRoleId: viewer };
    const directory = await newDirectory(cluster, by, fields);
    const name = randomUUID();
    const mappings = [{ claim: name, roleId: adminRole }];
    expect((await by.call("PUT", `/directories/${directory.id}/mappings`, { mappings })).status).toBe(200);
    const [group, email] = [await newGroup(name), await newUser()];
    const roleAfter = async () => {
      const { user } = await signIn(email);
      return (await by.call("GET", `/users/${user.id}`)).body.role;
    };
    await group("PUT", email);
    expect(await roleAfter()).toBe("org-admin");
    await group("DELETE", email);
    expect(await roleAfter()).toBe("org-viewer");
  });
});
