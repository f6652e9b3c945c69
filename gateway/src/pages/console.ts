import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { AppError, type Logger, locationLine, uuidv7 } from "@muster/kit";
import sirv from "sirv";
import { z } from "zod";
import { errorReply } from "../errors.ts";
import type { Pages } from "../http/pages.ts";
import { fileHeaders, pageHeaders } from "./policy.ts";
import type { PortalPolicy } from "./portal-policy.ts";

export type ConsoleOptions = {
  /** Folder of the console's build. */
  folder?: string;
  publicUrl: string;
  /** Address of the app that browsers are sent back to: on another origin, our own pages lead there. */
  appUrl: string;
  logoOrigin(): Promise<string | null>;
  /** By the target of a request for the page of a portal link. */
  portalPolicy(target: string): Promise<PortalPolicy>;
  log: Logger;
};

/** `src/pages` and `dist/pages` are equally deep. */
const builtFolder = fileURLToPath(new URL("../../console/dist", import.meta.url));

/** First path segments by the entry that shows them; made by the console's build. */
const pathsFile = z.object({ app: z.array(z.string()), signIn: z.array(z.string()), portal: z.array(z.string()) });

/** The console's pages and files; null when it is not built. */
export function createConsole(options: ConsoleOptions): Pages | null {
  const { folder = builtFolder, publicUrl, appUrl, logoOrigin, portalPolicy, log } = options;
  if (!existsSync(join(folder, "paths.json"))) {
    log.info({ folder }, "console is not built and not served");
    return null;
  }
  const paths = pathsFile.parse(JSON.parse(readFileSync(join(folder, "paths.json"), "utf8")));
  const app = new Set(paths.app);
  const signIn = new Set(paths.signIn);
  const portal = new Set(paths.portal);
  const isElsewhere = new URL(appUrl).origin !== new URL(publicUrl).origin;
  const files = sirv(folder, { etag: true, brotli: true, gzip: true });

  const send = (request: IncomingMessage, response: ServerResponse, headers: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // sirv pipes a stream that nobody else listens to: its error would end the process.
    response.once("pipe", (file: Readable) =>
      file.once("error", (err) => {
        log.warn({ err }, "file of the console is gone");
        response.destroy();
      }),
    );
    files(request, response, () => sendMissing(response));
  };

  return {
    serves(method, path) {
      if (method !== "GET" && method !== "HEAD") return false;
      const segment = firstSegment(path);
      return segment === "assets" || app.has(segment) || signIn.has(segment) || portal.has(segment);
    },
    handler(request, response) {
      const target = request.url ?? "/";
      const segment = firstSegment(target);
      if (segment === "assets") {
        // Their names hold their hash.
        send(request, response, { ...fileHeaders, "Cache-Control": "public, max-age=31536000, immutable" });
        return;
      }
      const failed = (err: unknown) => {
        log.error({ err }, "page failed");
        response.destroy();
      };
      if (portal.has(segment)) {
        request.url = "/portal.html";
        // Here also where the app is on another origin: its address is this platform's.
        portalPolicy(target)
          .then(({ imageOrigin, embedOrigins }) => send(request, response, pageHeaders(imageOrigin, embedOrigins)))
          .catch(failed);
        return;
      }
      if (isElsewhere) {
        const location = Object.fromEntries([locationLine(`${appUrl}${target}`)]);
        response.writeHead(302, { ...location, "Cache-Control": "no-store", ...fileHeaders }).end();
        return;
      }
      if (!signIn.has(segment)) {
        request.url = "/index.html";
        send(request, response, pageHeaders(null));
        return;
      }
      request.url = "/sign-in.html";
      logoOrigin()
        .then((origin) => send(request, response, pageHeaders(origin)))
        .catch(failed);
    },
  };
}

/** Of a request target or path, which begins with "/". */
const firstSegment = (target: string) => /^\/([^/?]*)/.exec(target)?.[1] ?? "";

function sendMissing(response: ServerResponse): void {
  const header = response.getHeader("X-Request-Id");
  const reply = errorReply(new AppError("not_found", "Not found"), typeof header === "string" ? header : uuidv7());
  response.setHeader("Cache-Control", "no-store");
  response.writeHead(reply.status, { "Content-Type": "application/json; charset=utf-8" }).end(reply.body);
}
