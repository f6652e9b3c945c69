import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { entityTag, withoutTrailing } from "@muster/kit";
import type { Pages } from "../http/pages.ts";
import { fileHeaders } from "./policy.ts";

/** `src/pages` and `dist/pages` are equally deep. */
const folder = new URL("../../installers/", import.meta.url);
const read = (name: string) => readFileSync(fileURLToPath(new URL(name, folder)), "utf8");

/**
 * The agent's installers: the same texts for everyone, with nothing in them but the address of this deployment. They
 * are read by people before they run them, so they are served as text.
 */
export function createInstallers({ publicUrl }: { publicUrl: string }): Pages {
  // The address ends up within single quotes of both shells.
  const address = withoutTrailing(new URL(publicUrl).href, "/").replaceAll("'", "%27");
  const unit = read("muster-agent.service").trimEnd();
  const texts = ["install.sh", "install.ps1"].map((name): [string, string] => {
    const text = read(name)
      .replaceAll("@PUBLIC_URL@", () => address)
      .replace("@UNIT@", () => unit);
    return [`/${name}`, text];
  });
  const files = new Map(texts);
  return {
    serves: (method, path) => (method === "GET" || method === "HEAD") && files.has(path),
    handler(request, response) {
      const text = files.get((request.url ?? "").split("?")[0] ?? "") ?? "";
      const etag = entityTag(createHash("sha256").update(text).digest("hex"));
      const headers = { ...fileHeaders, ETag: etag, "Cache-Control": "no-cache" };
      if (request.headers["if-none-match"] === etag) {
        response.writeHead(304, headers).end();
        return;
      }
      const length = Buffer.byteLength(text);
      response.writeHead(200, { ...headers, "Content-Type": "text/plain; charset=utf-8", "Content-Length": length });
      response.end(request.method === "HEAD" ? undefined : text);
    },
  };
}
