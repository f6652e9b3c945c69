import { join } from "node:path";
import { ownProgram } from "./programs.mjs";
import { must, run, totp } from "./tools.mjs";

/** The gateway is of the release, its console is there, and the program of the command line signs in. */
export async function signsIn(release, { url, password, work }) {
  const { version } = release.release;
  const { version: served } = await (await fetch(`${url}/health`)).json();
  must(served === version, `the gateway says that it is version ${served}`);
  must((await fetch(`${url}/`)).status === 200, "the console is not served");
  const program = ownProgram(release, join(work, "bin"));
  if (program !== null) {
    const env = { PATH: "/nonexistent", HOME: work, MUSTER_URL: url };
    run(program, ["login", "--email", "admin@muster.local"], {
      env,
      input: `${password}\n`,
      stdio: ["pipe", "pipe", "pipe"],
    });
    must(
      /partner|null|system/i.test(run(program, ["whoami", "--json"], { env })),
      "the program does not know who signed in",
    );
    release.say("the program signed in without Node on PATH");
  }
}

/** Signs in, by the program too, and brings a first device online. Returns a function that finds it again. */
export async function useCluster(release, { url, password, work }) {
  await signsIn(release, { url, password, work });
  const api = clientOf(url);
  const { accessToken } = await api("POST", "/auth/login", { email: "admin@muster.local", password });
  const { secret } = await api("POST", "/auth/mfa/totp/setup", { password }, accessToken);
  await api("POST", "/auth/mfa/totp/enable", { code: totp(secret) }, accessToken);
  const partner = await api("POST", "/orgs/partners", { name: "Check", slug: "check" }, accessToken);
  const organization = { partnerId: partner.id, name: "Check", slug: "check" };
  const { id: orgId } = await api("POST", "/orgs/organizations", organization, accessToken);
  const { key } = await api("POST", "/enrollment-keys", { orgId, name: "Check" }, accessToken);
  const device = { enrollmentKey: key, hostname: "check", os: "linux", arch: "amd64", agentVersion: "1.0.0" };
  const { deviceId, token } = await api("POST", "/agents/enroll", device);
  await api("POST", `/agents/${deviceId}/heartbeat`, { agentVersion: "1.0.0" }, token);
  const isListed = async () => {
    const { data } = await api("GET", `/devices?status=online&orgId=${orgId}`, undefined, accessToken);
    must(data.length === 1 && data[0].hostname === "check", "the first device is not online");
  };
  await isListed();
  release.say("the first device is online");
  return isListed;
}

/** A caller of the API. Throws with what it answered when it refuses. */
const clientOf = (url) => async (method, path, body, token) => {
  const headers = {
    ...(body ? { "content-type": "application/json" } : {}),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const reply = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await reply.text();
  must(reply.ok, `${method} ${path}: ${reply.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
};
