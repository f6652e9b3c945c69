import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { run } from "./tools.mjs";

/** The packument of a tarball, as registries serve it (npm registry API, "package metadata"). */
function packument(file, url) {
  const manifest = JSON.parse(run("tar", ["-xzOf", file, "package/package.json"]));
  const integrity = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
  const { name, version } = manifest;
  return {
    name,
    "dist-tags": { latest: version },
    versions: { [version]: { ...manifest, dist: { tarball: url, integrity } } },
  };
}

/** A registry on loopback that has the packages of a release and nothing else; npm gets all else from its own. */
export async function startRegistry(folder, tarballs) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/").slice(1);
    const tarball = tarballs.find((name) => path === `-/${name}`);
    if (tarball) return createReadStream(join(folder, tarball)).pipe(response);
    const origin = `http://127.0.0.1:${server.address().port}`;
    const found = tarballs
      .map((name) => packument(join(folder, name), `${origin}/-/${name}`))
      .find(({ name }) => name === path);
    response.writeHead(found ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? { error: "not found" }));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/`, stop: () => server.close() };
}
