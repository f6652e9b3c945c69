import {
  type FieldErrors,
  isPortalCapability,
  isReadOnly,
  nameError,
  type PortalCapability,
  portalCapabilities,
  validationError,
} from "@muster/kit";
import type { CreatePortalLinkRequest } from "@muster/proto/muster/identity/v1/portal_pb";

/** Longest life of a link and its session, in minutes. */
export const maxMinutes = 60;
const maxOrigins = 10;
const maxUrl = 2_000;
const loopback: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

export type PortalFields = {
  name: string;
  capabilities: PortalCapability[];
  embedOrigins: string[];
  refreshUrl: string | null;
  minutes: number;
};

/** The fields of a new link. Throws `validation_failed`. */
export function newPortalFields(request: CreatePortalLinkRequest): PortalFields {
  const { name, embedOrigins, refreshUrl, expiresInMinutes: minutes } = request;
  const wanted = new Set(request.capabilities);
  const capabilities = portalCapabilities.filter((each) => wanted.has(each));
  const errors: FieldErrors = {};
  const nameWrong = nameError(name);
  if (nameWrong) errors.name = [nameWrong];
  if (![...wanted].every(isPortalCapability)) errors.capabilities = [`Each one of ${portalCapabilities.join(", ")}`];
  else if (request.readOnly && !isReadOnly(capabilities)) {
    errors.capabilities = ["A read-only link has no capability that changes something"];
  }
  if (!Number.isInteger(minutes) || minutes < 1 || minutes > maxMinutes) {
    errors.expiresInMinutes = [`1 to ${maxMinutes}`];
  }
  if (embedOrigins.length > maxOrigins) errors.embedOrigins = [`At most ${maxOrigins}`];
  else if (!embedOrigins.every(isEmbedOrigin))
    errors.embedOrigins = ["Exact https origins such as https://app.example.com"];
  if (refreshUrl !== "" && !isPageUrl(refreshUrl)) errors.refreshUrl = ["An https URL without user and fragment"];
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return { name, capabilities, embedOrigins: [...new Set(embedOrigins)], refreshUrl: refreshUrl || null, minutes };
}

/** An origin exactly as browsers write it, so that it can stand in a Content-Security-Policy and be compared. */
const isEmbedOrigin = (text: string): boolean =>
  text.length <= maxUrl && URL.canParse(text) && isSecure(new URL(text)) && new URL(text).origin === text;

function isPageUrl(text: string): boolean {
  if (text.length > maxUrl || !URL.canParse(text)) return false;
  const url = new URL(text);
  return isSecure(url) && url.username === "" && url.password === "" && url.hash === "";
}

/** Plain http is for a developer's own machine. A host with other characters would be read as a part of the policy. */
const isSecure = ({ protocol, hostname }: URL): boolean =>
  (protocol === "https:" && /^[a-z0-9.-]+$|^\[[0-9a-f:.]+\]$/.test(hostname)) ||
  (protocol === "http:" && loopback.includes(hostname));
