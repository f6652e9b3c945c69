import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { paths } from "@muster/client";
import { openBrowser } from "../browser.ts";
import { anonymous, type Target } from "../connection.ts";
import { exits, Failure, refusal } from "../failure.ts";
import type { Io } from "../io.ts";
import { visible } from "../table.ts";
import { whenServed } from "../when-served.ts";

type Reply = paths["/api/v1/auth/device/token"]["post"]["responses"];
export type SignedIn = Reply[200]["content"]["application/json"];

/**
 * Signs in through a browser, on this machine or another (RFC 8628). Throws a Failure when it was refused or expired.
 */
export async function browserLogin(
  io: Io,
  { url }: Target,
  { browser = true, name = `muster on ${hostname()}` }: { browser?: boolean; name?: string },
): Promise<SignedIn> {
  const muster = anonymous(url);
  const started = await whenServed(io, () => muster.POST("/api/v1/auth/device", { body: { clientName: name } }));
  const { deviceCode, userCode, verificationUrl, expiresInSeconds } = started;
  const isOpened = browser && openBrowser(io.env, verificationUrl);
  io.stderr.write(
    `${isOpened ? "A browser opens" : "Open"} ${visible(verificationUrl)}: enter the code  ${visible(userCode)}\n` +
      `Waiting for ${Math.round(expiresInSeconds / 60)} minutes; Ctrl-C gives up.\n`,
  );
  const endMs = performance.now() + expiresInSeconds * 1_000;
  for (let pauseMs = started.intervalSeconds * 1_000; performance.now() + pauseMs < endMs; ) {
    await sleep(pauseMs);
    const { data, error, response } = await muster.POST("/api/v1/auth/device/token", { body: { deviceCode } });
    if (data) return data;
    const seconds = Number(response.headers.get("retry-after") ?? error?.intervalSeconds ?? Number.NaN);
    if (Number.isFinite(seconds)) pauseMs = Math.max(pauseMs, seconds * 1_000);
    const code: string = error?.code ?? "";
    if (code === "access_denied") throw new Failure(exits.forbidden, "the sign-in was refused in the browser", error);
    // The user has time: a deployment that is busy or away for a moment ends nothing.
    const isPassing =
      code === "authorization_pending" || code === "slow_down" || response.status >= 429 || code === "network_error";
    if (!isPassing && error) throw refusal(response.status, error);
  }
  throw new Failure(exits.signedOut, "nobody approved the sign-in in time: run `muster login` again");
}
