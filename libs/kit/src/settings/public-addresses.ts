import { z } from "zod";
import { withoutTrailing } from "../text/trailing.ts";
import { coupled } from "./couplings.ts";

const address = (sentence: string) =>
  coupled(
    z
      .url()
      .transform((url) => withoutTrailing(url, "/"))
      .optional()
      .describe(sentence),
    { shared: true },
  );

/** The addresses of a deployment, for processes that link to it (docs/behaviour.md#addresses). */
export const publicAddressSettings = {
  PUBLIC_URL: address(
    "Address at which users and agents reach this platform, and base of its links, passkeys and single sign-on; default PUBLIC_APP_URL, then DASHBOARD_URL, then http://localhost:3000.",
  ),
  PUBLIC_APP_URL: address(
    "Address of the app to which browsers return after sign-in, when DASHBOARD_URL is not set; default PUBLIC_URL.",
  ),
  DASHBOARD_URL: address("Address of the app to which browsers return after sign-in; default PUBLIC_APP_URL."),
};

export type PublicAddressSettings = { [Name in keyof typeof publicAddressSettings]?: string | undefined };

/** The address of the platform and that of the app, both without a trailing slash; the same in every process. */
export function publicAddresses(config: PublicAddressSettings): { publicUrl: string; appUrl: string } {
  const { PUBLIC_URL, PUBLIC_APP_URL, DASHBOARD_URL } = config;
  const publicUrl = PUBLIC_URL ?? PUBLIC_APP_URL ?? DASHBOARD_URL ?? "http://localhost:3000";
  return { publicUrl, appUrl: DASHBOARD_URL ?? PUBLIC_APP_URL ?? publicUrl };
}
