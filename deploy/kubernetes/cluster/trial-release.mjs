// node trial-release.mjs DIR RELEASE [EARLIER]: a release on the cluster of up.sh and data.sh, by the chart and the
// images of its archives alone. Installed, and tried by smoke; with EARLIER, the folder of an earlier release, that one
// is installed and upgraded to it under load.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  ask,
  gateway,
  helm,
  kubectl,
  load,
  must,
  noRestarts,
  rate,
  say,
  settled,
  sleep,
  until,
  watchGateways,
} from "./client.mjs";
import { install, values } from "./install.mjs";
import { keepLogs, kinds } from "./kept-logs.mjs";
import { mixture } from "./try-operations.mjs";
import { signIn, smoke } from "./try-smoke.mjs";

const [release, earlier] = process.argv.slice(3).map((folder) => ({
  ...JSON.parse(readFileSync(join(folder, "release.json"), "utf8")),
  folder,
}));
const chartOf = ({ folder, version }) => join(folder, `muster-${version}.tgz`);
/** The images are those of the archive: by the chart's own digests, and never pulled. */
const archived = ["--set", "image.tag=,image.pullPolicy=Never"];

/** Every pod that runs is of the release's images, by digest, and the gateway says its version. */
async function isRelease() {
  const images = new Set(
    Object.entries(release.images).map(([name, digest]) => `${release.registry}/${name}@${digest}`),
  );
  const pods = JSON.parse(await kubectl("get", "pods", "-o", "json")).items;
  const running = pods.filter(({ metadata, status }) => !metadata.deletionTimestamp && status.phase === "Running");
  for (const { metadata, spec } of running) {
    for (const { image } of [...(spec.initContainers ?? []), ...spec.containers])
      must(images.has(image), `${metadata.name} runs ${image}, an image of the release`);
  }
  const { version } = await (await fetch(`${gateway}/health`)).json();
  must(version === release.version, `the gateway is version ${release.version}, not ${version}`);
  say(`${running.length} pods run the images of ${version} by digest`);
}

/** The earlier release is upgraded while requests go on: none fails. */
async function upgraded() {
  const token = await until("a sign-in", signIn);
  const slug = "before-the-upgrade";
  const partner = await ask("POST", "/orgs/partners", { name: "Before", slug }, token);
  const org = await ask("POST", "/orgs/organizations", { partnerId: partner.id, name: "Before", slug }, token);
  const gateways = watchGateways();
  // Every pod starts at once, each after its migration: twenty Node programs, 2 to 3 s of a core each.
  const running = load(rate / 4, mixture({ token, org }));
  await sleep(2_000);
  await helm("upgrade", "muster", chartOf(release), "-f", values, ...archived, "--wait", "--timeout", "6m");
  await sleep(2_000);
  const { sent, failed, resent, slowestMs } = await running.stop();
  const counted = `${failed.length} of ${sent} failed, slowest ${Math.round(slowestMs)} ms, ${resent} sent again`;
  say(`helm upgrade ${earlier.version} → ${release.version}: ${counted}; ${await gateways()}`);
  must(failed.length === 0, `no request fails in the upgrade: ${kinds(failed)}`);
  const found = await ask("GET", `/orgs/organizations/${org.id}`, undefined, token);
  must(found.slug === slug, "what was stored before the upgrade is there");
}

keepLogs();
try {
  await install(chartOf(earlier ?? release), archived);
  if (earlier) await upgraded();
  await until("the release alone", async () => (await isRelease()) ?? true);
  await smoke({});
  await noRestarts();
} catch (error) {
  say(`FAILED: ${error.stack}`);
  await settled();
  process.exit(1);
}
say("all of it passed");
process.exit(0);
