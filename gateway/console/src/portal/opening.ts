import { call } from "../api/call.ts";
import { setCredentials } from "../api/credentials.ts";
import { type PortalAddress, sentLink } from "../rules/portal-link.ts";

export type PortalLink = {
  name: string;
  orgId: string;
  capabilities: readonly string[];
  readOnly: boolean;
  expiresAt: string;
};
export type PortalPage = {
  embedOrigins: readonly string[];
  refreshUrl: string | null;
  branding: { logo_url: string | null; accent_color: string | null; headline: string | null } | null;
};

/** Milliseconds for which the embedding page may think about a new link. */
const answerMs = 5_000;
const nothing: PortalPage = { embedOrigins: [], refreshUrl: null, branding: null };

/** What the page needs before it has a session; nothing while it cannot be read. */
export async function pageOf(linkId: string): Promise<PortalPage> {
  const { data } = await call<PortalPage>("GET", `/webhooks/portal-links/${linkId}/page`);
  return data ?? nothing;
}

/** Exchanges a code. The token stays in this closure: no storage, no cookie. Null when the code is not accepted. */
export async function openSession({ linkId, code }: PortalAddress, onEnd: () => void): Promise<PortalLink | null> {
  const path = `/webhooks/portal-links/${linkId}/exchange`;
  const { data } = await call<{ token: string; link: PortalLink }>("POST", path, { code });
  if (data === undefined) return null;
  const { token, link } = data;
  setCredentials({
    accessToken: async () => token,
    // There is nothing to renew it by: a token that was refused is the end.
    async renewed() {
      onEnd();
      return null;
    },
    stepUp: async () => false,
  });
  return link;
}

/** Asks the embedding page for a new link; null when there is none, or no answer in time. */
export function askForLink(linkId: string, { embedOrigins }: PortalPage): Promise<PortalAddress | null> {
  const { parent, origin } = window;
  if (parent === window || embedOrigins.length === 0) return Promise.resolve(null);
  return new Promise((resolve) => {
    const settle = (address: PortalAddress | null) => {
      clearTimeout(timer);
      removeEventListener("message", receive);
      resolve(address);
    };
    const receive = (event: MessageEvent<unknown>) => {
      const address = sentLink(event, { origin, parent, embedOrigins });
      if (address) settle(address);
    };
    const timer = setTimeout(settle, answerMs, null);
    addEventListener("message", receive);
    for (const target of targetsOf(embedOrigins)) parent.postMessage({ type: "muster.portal.refresh", linkId }, target);
  });
}

/** The origin that embeds this page, where the browser names it; else each that may, of which one receives it. */
function targetsOf(embedOrigins: readonly string[]): readonly string[] {
  const [embedding] = location.ancestorOrigins ?? [];
  return embedding === undefined ? embedOrigins : embedOrigins.filter((each) => each === embedding);
}
