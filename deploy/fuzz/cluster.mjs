// A cluster that is started for one check and thrown away, with what its checks do first.
import { spawn } from "node:child_process";
import { chmod, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "@muster/local";
import { Secret, TOTP } from "otpauth";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const password = "correct horse battery staple";

/** Starts a cluster in a folder of its own; `stop` ends it and removes the folder. */
export async function startCluster() {
  const directory = await mkdtemp(join(tmpdir(), "muster-check-"));
  await chmod(directory, 0o711);
  const port = await freePort();
  const log = await open(join(directory, "supervisor.log"), "a");
  const supervisor = spawn(process.execPath, [join(root, "deploy", "local", "dist", "main.js")], {
    stdio: ["ignore", log.fd, log.fd],
    env: {
      ...process.env,
      NODE_ENV: "development",
      PORT: String(port),
      MUSTER_DATA_DIR: join(directory, "data"),
      BOOTSTRAP_ADMIN_PASSWORD: password,
      PASSWORD_SCRYPT_LOG_N: "12",
      LOGIN_FAILURES_PER_ADDRESS: "100000",
      FORGOT_PASSWORD_PER_ADDRESS: "100000",
      UNKNOWN_KEYS_PER_MINUTE: "100000",
      UNKNOWN_TOKENS_PER_MINUTE: "100000",
      EVENT_LOOP_LAG_MAX_MS: "10000",
      IN_FLIGHT_MAX_EXPORT: "1000",
    },
  });
  await log.close();
  const ended = new Promise((resolve) => supervisor.once("exit", resolve));
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    supervisor.kill("SIGTERM");
    await ended;
    await rm(directory, { recursive: true, force: true });
  };
  for (let left = 120; left > 0; left--) {
    const health = await fetch(`${url}/health`).then(
      (reply) => reply.json(),
      () => null,
    );
    if (health?.status === "ok") return { url, stop };
    if (supervisor.exitCode !== null) break;
    await pause(1_000);
  }
  supervisor.kill("SIGTERM");
  await ended;
  throw new Error(`the cluster did not start: see ${directory}/supervisor.log`);
}

/** The headers of a user who signs in and enrolls a second factor. */
export async function signedIn(url, credentials) {
  const { accessToken } = await call(url, "POST", "/auth/login", credentials);
  const headers = { Authorization: `Bearer ${accessToken}` };
  const { secret } = await call(url, "POST", "/auth/mfa/totp/setup", { password }, headers);
  await call(
    url,
    "POST",
    "/auth/mfa/totp/enable",
    { code: new TOTP({ secret: Secret.fromBase32(secret) }).generate() },
    headers,
  );
  return headers;
}

/** The body of a reply; throws for an error. */
export async function call(url, method, path, body, headers = {}) {
  const reply = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`${method} ${path} answered ${reply.status}: ${JSON.stringify(answer)}`);
  return answer;
}
