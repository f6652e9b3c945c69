import { setTimeout as sleep } from "node:timers/promises";
import { anonymous, connect, targetOf } from "../connection.ts";
import { done, exits, Failure, type Reply } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { promptOf } from "../prompt.ts";
import { recordText } from "../table.ts";

/** How long a sign-in waits for a deployment that is starting. */
const patienceMs = 30_000;

/** The data of a call that did nothing when it was answered 503: it is made again until it is served. */
async function whenServed<T>(io: Io, call: () => Promise<Reply<T>>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (let hasReported = false; ; hasReported = true) {
    const reply = await call();
    const { status, headers } = reply.response;
    const pauseMs = Number(headers.get("retry-after") ?? 1) * 1_000 || 100;
    // Where nothing answers at all the address is wrong more often than early.
    const isBusy = status === 503 && reply.error?.code !== "network_error";
    if (!isBusy || performance.now() + pauseMs > endMs) return done(Promise.resolve(reply));
    if (!hasReported) io.stderr.write("muster: the deployment is starting or busy; trying again for half a minute\n");
    await sleep(pauseMs);
  }
}

/** Signs a person in, second factor included, and keeps the session. */
export async function login(io: Io, options: Globals & { email?: string }): Promise<void> {
  const { url, credentials } = targetOf(io, options);
  const { protocol, hostname } = new URL(url);
  if (protocol === "http:" && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) {
    io.stderr.write(`muster: ${url} is plain http: others on the network can read the password\n`);
  }
  const muster = anonymous(url);
  const prompt = promptOf(io);
  try {
    const email = options.email ?? (await prompt.ask("E-mail"));
    const password = await prompt.ask("Password", { hidden: true });
    let reply = await whenServed(io, () => muster.POST("/api/v1/auth/login", { body: { email, password } }));
    if ("mfaRequired" in reply) {
      const { mfaToken, methods } = reply;
      if (methods.every((method) => method === "passkey")) {
        throw new Failure(
          exits.signedOut,
          "the only second factor is a passkey, which needs a browser: enroll a TOTP app there",
        );
      }
      const code = await prompt.ask("Code of the authenticator app, or a recovery code");
      reply = await done(muster.POST("/api/v1/auth/mfa/verify", { body: { mfaToken, code } }));
    }
    const { accessToken, refreshToken, user } = reply;
    if (!refreshToken) throw new Error("the API answered a sign-in without a refresh token");
    await credentials.keep(url, { accessToken, refreshToken, email: user.email }, true);
    io.stderr.write(`Signed in at ${url} as ${user.email}, kept in ${credentials.file}\n`);
  } finally {
    prompt.close();
  }
}

/** Enrolls an authenticator app for the signed-in person; the recovery codes are the result, shown this once. */
export async function enrollTotp(io: Io, options: Globals): Promise<void> {
  const { muster } = connect({ ...io, env: { ...io.env, MUSTER_API_KEY: undefined } }, options);
  const prompt = promptOf(io);
  try {
    const password = await prompt.ask("Password", { hidden: true });
    const { secret, otpauthUrl } = await done(muster.POST("/api/v1/auth/mfa/totp/setup", { body: { password } }));
    io.stderr.write(
      `Add to the authenticator app, by hand or as a QR code:\n  secret  ${secret}\n  url     ${otpauthUrl}\n`,
    );
    const code = await prompt.ask("Code of the authenticator app");
    const { recoveryCodes } = await done(muster.POST("/api/v1/auth/mfa/totp/enable", { body: { code } }));
    io.stderr.write("Enrolled. Keep these recovery codes: they cannot be shown again.\n");
    io.stdout.write(options.json ? `${JSON.stringify(recoveryCodes)}\n` : `${recoveryCodes.join("\n")}\n`);
  } finally {
    prompt.close();
  }
}

/** Ends the session at the API, then forgets it. */
export async function logout(io: Io, options: Globals): Promise<void> {
  const { url, credentials } = targetOf(io, options);
  if (!credentials.session(url)) return void io.stderr.write(`Not signed in at ${url}\n`);
  const { muster } = connect({ ...io, env: { ...io.env, MUSTER_API_KEY: undefined } }, { url });
  const { error, response } = await muster.POST("/api/v1/auth/logout");
  // A session that has already ended is no failure.
  if (error && response.status !== 401) throw new Failure(exits.unavailable, "the session was not ended", error);
  await credentials.keep(url, null);
  io.stderr.write(`Signed out at ${url}\n`);
}

/** Prints the caller, a user or a key, and the address of the API. */
export async function whoami(io: Io, options: Globals): Promise<void> {
  const { muster, url } = connect(io, options);
  const me = await done(muster.GET("/api/v1/auth/me"));
  if (options.json) return void io.stdout.write(`${JSON.stringify({ url, ...me }, null, 2)}\n`);
  io.stdout.write(recordText({ url, ...me }));
}
