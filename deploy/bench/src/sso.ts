import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { freePort, startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import { newSigningKey } from "@muster/testing/signing-key";
import { Pool } from "undici";
import { administrator, type Call, newOrganization, password } from "./administrator.ts";
import { bareRound } from "./bare-server.ts";
import type { Report } from "./report.ts";
import { requestIn, responseTo, worstCases } from "./sso-assertion.ts";
import { cpuOf } from "./sso-cpu.ts";

const name = "idp.example.test";
const signIns = 600;
const assertions = 400;
const abreast = 8;
const users = 50;
const samlIssuer = "https://saml.example.test/metadata";

/**
 * `npm run bench -- sso`: whole OpenID Connect sign-ins, SAML responses of 6 KB, `/sso/check`, and junk of every
 * expensive kind while another client asks `/sso/check`.
 */
export async function run(_args: string[], report: Report): Promise<void> {
  const port = await freePort();
  const provider = fork(fileURLToPath(new URL("./sso-provider.js", import.meta.url)), [name, String(port)]);
  await once(provider, "message");
  const env = {
    SSO_REQUESTS_PER_MINUTE: "1000000",
    EGRESS_TEST_EXCEPTIONS: `${name}:${port}=127.0.0.1`,
    NODE_EXTRA_CA_CERTS: testCaFile,
    LOG_LEVEL: "warn",
  };
  const cluster = await startStack({ env, adminPassword: password });
  try {
    const url = cluster.stack.gateways[0]?.url ?? "";
    const call = await administrator(url);
    const identity = cluster.stack.services.identity?.pid ?? 0;
    const [oidcOrg, samlOrg] = [(await newOrganization(call)).orgId, (await newOrganization(call)).orgId];
    await newOidcProvider(call, oidcOrg, `https://${name}:${port}`);
    const key = await newSigningKey();
    await newSamlProvider(call, samlOrg, key.certificate, `https://${name}:${port}/sso`);
    const pool = new Pool(url, { connections: 32 });
    console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} at the start`);
    await signInMany(pool, oidcOrg, 100, identity);
    const oidc = await signInMany(pool, oidcOrg, signIns, identity);
    await answerMany(pool, samlOrg, key.privateKey, 50);
    const saml = await answerMany(pool, samlOrg, key.privateKey, assertions);
    const check = await checkMany(pool, oidcOrg, 3_000);
    const junk = await junkBeside(pool, oidcOrg, samlOrg);
    const bare = await bareRound();
    console.table([
      { what: "OpenID Connect sign-ins/s", bar: ">= 60", figure: oidc.perSecond.toFixed(0) },
      { what: "identity CPU of one, ms", bar: "<= 15", figure: oidc.cpuMs.toFixed(1) },
      {
        what: "SAML response of 6 KB, p50 / p99 ms",
        bar: "p99 <= 15",
        figure: `${saml.p50.toFixed(1)} / ${saml.p99.toFixed(1)}`,
      },
      { what: "/sso/check, requests/s", bar: ">= 1500", figure: check.toFixed(0) },
      ...junk.map(({ what, mostMs, besideMs }) => ({
        what: `${what}: slowest ms / p99 of /sso/check beside it`,
        bar: "< 400 / < 60",
        figure: `${mostMs.toFixed(1)} / ${besideMs.toFixed(1)}`,
      })),
    ]);
    report.atLeast("OpenID Connect sign-ins", oidc.perSecond, "a second", 60);
    report.atMost("identity's CPU of one", oidc.cpuMs, "ms", 15);
    report.atMost("SAML response, p99", saml.p99, "ms", 15);
    report.atLeast("/sso/check", check, "requests/s", 1_500);
    report.atMost("junk, slowest answer", Math.max(...junk.map(({ mostMs }) => mostMs)), "ms", 400);
    report.atMost("/sso/check beside junk, p99", Math.max(...junk.map(({ besideMs }) => besideMs)), "ms", 60);
    report.also("SAML response, p50", saml.p50, "ms");
    report.also("bare node:http", bare.perSecond, "requests/s");
    console.log(`bare node:http: ${bare.perSecond.toFixed(0)} requests/s, ${bare.cpuUs.toFixed(1)} µs of CPU each`);
    console.log(`load ${loadavg()[0]?.toFixed(1)} at the end`);
    await pool.close();
  } finally {
    provider.kill();
    await cluster.stop();
  }
}

async function newOidcProvider(call: Call, orgId: string, issuer: string): Promise<void> {
  const defaultRoleId = await viewerRole(call);
  const fields = { issuer, clientId: "muster", clientSecret: "bench", defaultRoleId };
  await activate(call, await done(call("POST", "/sso/providers", { name: "Bench", type: "oidc", orgId, ...fields })));
}

async function newSamlProvider(call: Call, orgId: string, certificate: string, ssoUrl: string): Promise<void> {
  const saml = { samlEntityId: samlIssuer, samlSsoUrl: ssoUrl, samlCertificates: [certificate] };
  await activate(call, await done(call("POST", "/sso/providers", { name: "Bench", type: "saml", orgId, ...saml })));
}

async function viewerRole(call: Call): Promise<unknown> {
  const { data } = (await call("GET", "/roles")).body as { data: { id: string; key: string }[] };
  return data.find(({ key }) => key === "org-viewer")?.id;
}

const activate = (call: Call, { id }: Record<string, unknown>) =>
  done(call("POST", `/sso/providers/${id}/status`, { status: "active" }));

async function done(reply: ReturnType<Call>): Promise<Record<string, unknown>> {
  const { status, body } = await reply;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; text: string; ms: number };

async function ask(
  pool: Pool,
  method: "GET" | "POST",
  path: string,
  headers: Record<string, string> = {},
  body: string | null = null,
): Promise<Answer> {
  const began = performance.now();
  const reply = await pool.request({ method, path: `/api/v1${path}`, headers, body });
  const text = await reply.body.text();
  return { status: reply.statusCode, headers: reply.headers, text, ms: performance.now() - began };
}

const cookieOf = ({ headers }: Answer) => String(headers["set-cookie"]).split(";")[0] ?? "";

/** Runs `count` of something, some abreast; the milliseconds of each. */
async function many(count: number, one: (n: number) => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  let next = 0;
  const lane = async () => {
    for (let n = next++; n < count; n = next++) times.push(await one(n));
  };
  await Promise.all(Array.from({ length: abreast }, lane));
  return times.sort((a, b) => a - b);
}

const quantile = (sorted: readonly number[], part: number) => sorted[Math.floor((sorted.length - 1) * part)] ?? 0;

async function signInMany(pool: Pool, orgId: string, count: number, identity: number) {
  const [cpu, began] = [cpuOf(identity), performance.now()];
  await many(count, async (n) => {
    const login = await ask(pool, "GET", `/sso/login/${orgId}`);
    const { searchParams } = new URL(String(login.headers.location));
    const code = `person${n % users}.${searchParams.get("nonce")}`;
    const query = new URLSearchParams({ state: searchParams.get("state") ?? "", code });
    const back = await ask(pool, "GET", `/sso/callback?${query}`, { cookie: cookieOf(login) });
    const ssoCode = /#ssoCode=(.+)$/.exec(String(back.headers.location))?.[1];
    const json = { "content-type": "application/json" };
    const end = await ask(pool, "POST", "/sso/exchange", json, JSON.stringify({ code: ssoCode }));
    if (end.status !== 200) throw new Error(`a sign-in ended at ${back.headers.location} with ${end.status}`);
    return 0;
  });
  const seconds = (performance.now() - began) / 1_000;
  return { perSecond: count / seconds, cpuMs: (cpuOf(identity) - cpu) / count };
}

const form = { "content-type": "application/x-www-form-urlencoded" };
const post = (pool: Pool, SAMLResponse: string, RelayState: string) =>
  ask(pool, "POST", "/sso/saml/acs", form, new URLSearchParams({ SAMLResponse, RelayState }).toString());

const samlLogin = async (pool: Pool, orgId: string) =>
  requestIn(String((await ask(pool, "GET", `/sso/login/${orgId}`)).headers.location));

/** One after the other: the figure is what one response takes. */
async function answerMany(pool: Pool, orgId: string, privateKey: string, count: number) {
  const times: number[] = [];
  for (let n = 0; n < count; n++) {
    const request = await samlLogin(pool, orgId);
    const email = `person${n % users}@bench.example`;
    const { headers, ms } = await post(
      pool,
      responseTo(request, { issuer: samlIssuer, privateKey, email, bytes: 6_000 }),
      request.state,
    );
    if (!String(headers.location).includes("&saml=")) throw new Error(`a response ended at ${headers.location}`);
    times.push(ms);
  }
  times.sort((a, b) => a - b);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

async function checkMany(pool: Pool, orgId: string, count: number): Promise<number> {
  const began = performance.now();
  await many(count, async () => (await ask(pool, "GET", `/sso/check/${orgId}`)).ms);
  return count / ((performance.now() - began) / 1_000);
}

/** Each kind of junk, 40 times, while another client asks `/sso/check` all the time. */
async function junkBeside(pool: Pool, checkedOrg: string, orgId: string) {
  const kinds = Object.entries(worstCases).map(([what, xml]) => ({ what, text: Buffer.from(xml).toString("base64") }));
  const results: { what: string; mostMs: number; besideMs: number }[] = [];
  for (const { what, text } of [...kinds, { what: "3 MB of form", text: "A".repeat(3_000_000) }]) {
    let isOver = false;
    const beside: number[] = [];
    const asking = (async () => {
      while (!isOver) beside.push((await ask(pool, "GET", `/sso/check/${checkedOrg}`)).ms);
    })();
    const times: number[] = [];
    for (let n = 0; n < 40; n++) {
      const { state } = await samlLogin(pool, orgId);
      const { status, headers, ms } = await post(pool, text, state);
      if (!String(headers.location).includes("assertion_invalid")) {
        throw new Error(`junk was answered with ${status} ${headers.location}`);
      }
      times.push(ms);
    }
    isOver = true;
    await asking;
    beside.sort((a, b) => a - b);
    results.push({ what, mostMs: Math.max(...times), besideMs: quantile(beside, 0.99) });
  }
  return results;
}
