import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { testCaFile } from "@muster/testing";
import { receiverHost } from "./cluster.ts";

export type Visit = {
  status: number;
  url: string;
  headers: IncomingHttpHeaders;
  text: string;
  location: string | null;
};

const ca = readFileSync(testCaFile);
const maxHops = 12;

/**
 * What a browser is to a login flow: cookies by host and path, redirects followed while they lead to the identity
 * provider or our own single sign-on routes. Names of the test CA lead to this machine.
 */
export function newVisitor() {
  const cookies = new Map<string, { value: string; path: string; host: string }>();

  const keep = (host: string, lines: string[] = []) => {
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
      const at = pair.indexOf("=");
      const path = attributes.find((each) => /^path=/i.test(each))?.slice(5) ?? "/";
      const key = `${host} ${path} ${pair.slice(0, at)}`;
      const ended = attributes.some((each) => /^max-age=0$/i.test(each) || /^expires=thu, 01 jan 1970/i.test(each));
      if (ended) cookies.delete(key);
      else cookies.set(key, { value: pair, path, host });
    }
  };

  type More = { method?: string; body?: string; headers?: Record<string, string>; crossSite?: boolean };
  const get = (url: string, more: More = {}) =>
    new Promise<Visit>((resolve, reject) => {
      const target = new URL(url);
      const own = [...cookies.values()].filter(
        ({ host, path }) => !more.crossSite && host === target.host && target.pathname.startsWith(path),
      );
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const outgoing = send(
        target,
        {
          method: more.method ?? "GET",
          // A kept connection may be closed by its idle server at the moment it is used again.
          agent: false,
          headers: {
            accept: "text/html",
            "user-agent": "visitor/1.0",
            ...(own.length > 0 ? { cookie: own.map(({ value }) => value).join("; ") } : {}),
            ...more.headers,
          },
          ...(target.hostname === receiverHost ? { ca, lookup: toThisMachine } : {}),
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("end", () => {
            keep(target.host, response.headers["set-cookie"]);
            const { location } = response.headers;
            resolve({
              status: response.statusCode ?? 0,
              url,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
              location: location === undefined ? null : new URL(location, url).href,
            });
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(more.body);
    });

  /** Goes on from an answer: redirects, and forms that a page posts by itself. */
  const followFrom = async (from: Visit, stopBefore: (next: string) => boolean = () => false): Promise<Visit> => {
    let visit = from;
    for (let hop = 0; hop < maxHops; hop++) {
      const form = formIn(visit);
      if (form) {
        if (stopBefore(form.action)) return visit;
        visit = await postFrom(visit, form);
      }
      const next = visit.location;
      const goesOn = next !== null && (next.includes(receiverHost) || next.includes("/api/v1/sso/"));
      if (next === null || !goesOn || stopBefore(next)) return visit;
      visit = await get(next);
    }
    throw new Error(`more than ${maxHops} redirects, last to ${visit.location}`);
  };

  /** As a browser that posts from another site: none of the cookies that are Lax. */
  const postFrom = (visit: Visit, { action, body }: { action: string; body: string }) =>
    get(action, {
      method: "POST",
      body,
      crossSite: true,
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        origin: new URL(visit.url).origin,
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
      },
    });

  return {
    get,
    /** Keeps the Set-Cookie lines of an answer from a host. */
    keep,
    cookies: () => [...cookies.values()].map(({ value }) => value),
    /** Follows from here until an address of the app, or until `stopBefore` says so; returns where it would go next. */
    follow: async (url: string, stopBefore?: (next: string) => boolean) => followFrom(await get(url), stopBefore),
    followFrom,
  };
}

/** The form with a SAML response that a page posts by itself (HTTP-POST binding); null when there is none. */
export function formIn({ text, headers }: Visit): { action: string; body: string; fields: URLSearchParams } | null {
  if (!headers["content-type"]?.startsWith("text/html") || !/name="SAMLResponse"/i.test(text)) return null;
  const action = /<form[^>]*\baction="([^"]+)"/i.exec(text)?.[1];
  if (action === undefined) return null;
  const fields = new URLSearchParams();
  for (const [, name = "", value = ""] of text.matchAll(/name="(SAMLResponse|RelayState)" value="([^"]*)"/gi)) {
    fields.append(name, unescaped(value));
  }
  return { action: unescaped(action), body: fields.toString(), fields };
}

/** Text of an attribute as HTML writes it. */
export const unescaped = (text: string) =>
  text
    .replaceAll(/&#x([0-9a-f]+);/gi, (_all, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replaceAll(/&#(\d+);/g, (_all, digits: string) => String.fromCodePoint(Number(digits)))
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

export type Visitor = ReturnType<typeof newVisitor>;

type LookupDone = (
  error: Error | null,
  address: string | { address: string; family: number }[],
  family?: number,
) => void;

function toThisMachine(_name: string, options: unknown, done: LookupDone): void {
  const { all } = options as { all?: boolean };
  if (all) done(null, [{ address: "127.0.0.1", family: 4 }]);
  else done(null, "127.0.0.1", 4);
}
