import { anonymous, connect, type Target, targetOf } from "../connection.ts";
import { done, exits, Failure } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { tellNewerRelease } from "../newer-release.ts";
import { promptOf } from "../prompt.ts";
import { recordText } from "../table.ts";
import { whenServed } from "../when-served.ts";
import { browserLogin, type SignedIn } from "./browser-login.ts";

export type LoginOptions = Globals & { email?: string; browser?: boolean; name?: string };

/** Signs a person in and keeps the session: in a browser, or with `email` by password and code. */
export async function login(io: Io, options: LoginOptions): Promise<void> {
  const target = targetOf(io, options);
  const signedIn =
    options.email === undefined ? browserLogin(io, target, options) : passwordLogin(io, target, options.email);
  const { accessToken, refreshToken, user } = await signedIn;
  if (!refreshToken) throw new Error("the API answered a sign-in without a refresh token");
  const { url, profile, key, credentials } = target;
  if (profile !== null) await credentials.nameProfile(profile, url);
  await credentials.keep(key, { accessToken, refreshToken, email: user.email }, true);
  io.stderr.write(`Signed in at ${url} as ${user.email}, kept in ${credentials.file}\n`);
  if (user.scope === "system") await tellNewerRelease(io, connect(io, options).muster, credentials);
}

/** By password and, where the account has one, a code of its second factor. */
async function passwordLogin(io: Io, { url }: Target, email: string): Promise<SignedIn> {
  const { protocol, hostname } = new URL(url);
  if (protocol === "http:" && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) {
    io.stderr.write(`muster: ${url} is plain http: others on the network can read the password\n`);
  }
  const muster = anonymous(url);
  const prompt = promptOf(io);
  try {
    const password = await prompt.ask("Password", { hidden: true });
    const reply = await whenServed(io, () => muster.POST("/api/v1/auth/login", { body: { email, password } }));
    if (!("mfaRequired" in reply)) return reply;
    const { mfaToken, methods } = reply;
    if (methods.every((method) => method === "passkey")) {
      throw new Failure(
        exits.signedOut,
        "the only second factor is a passkey, which needs a browser: run `muster login` without --email",
      );
    }
    const code = await prompt.ask("Code of the authenticator app, or a recovery code");
    return await done(muster.POST("/api/v1/auth/mfa/verify", { body: { mfaToken, code } }));
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
  const { url, key, credentials } = targetOf(io, options);
  if (!credentials.session(key)) return void io.stderr.write(`Not signed in at ${url}\n`);
  const { muster } = connect({ ...io, env: { ...io.env, MUSTER_API_KEY: undefined } }, options);
  const { error, response } = await muster.POST("/api/v1/auth/logout");
  // A session that has already ended is no failure.
  if (error && response.status !== 401) throw new Failure(exits.unavailable, "the session was not ended", error);
  await credentials.keep(key, null);
  io.stderr.write(`Signed out at ${url}\n`);
}

/** Prints the caller, a user or a key, and the address of the API. */
export async function whoami(io: Io, options: Globals): Promise<void> {
  const { muster, url } = connect(io, options);
  const me = await done(muster.GET("/api/v1/auth/me"));
  if (options.json) return void io.stdout.write(`${JSON.stringify({ url, ...me }, null, 2)}\n`);
  io.stdout.write(recordText({ url, ...me }));
}
