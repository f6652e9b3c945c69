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
 * What a browser is to a round trip: cookies by host and path, redirects followed while they lead to the identity provider or our own
 * single sign-on routes. Names of the test CA lead to this machine.
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

  const get = (url: string, more: { method?: string; body?: string; headers?: Record<string, string> } = {}) =>
    new Promise<Visit>((resolve, reject) => {
      const target = new URL(url);
      const own = [...cookies.values()].filter(
        ({ host, path }) => host === target.host && target.pathname.startsWith(path),
      );
      const send = target.protocol === "https:" ? httpsRequest : httpRequest;
      const outgoing = send(
        target,
        {
          method: more.method ?? "GET",
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

  return {
    get,
    cookies: () => [...cookies.values()].map(({ value }) => value),
    /** Follows from here until an address of the app, or until `stopBefore` says so; gives where it would go next. */
    async follow(url: string, stopBefore: (next: string) => boolean = () => false): Promise<Visit> {
      let visit = await get(url);
      for (let hop = 0; hop < maxHops; hop++) {
        const next = visit.location;
        const goesOn = next !== null && (next.includes(receiverHost) || next.includes("/api/v1/sso/"));
        if (next === null || !goesOn || stopBefore(next)) return visit;
        visit = await get(next);
      }
      throw new Error(`more than ${maxHops} redirects, last to ${visit.location}`);
    },
  };
}

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
