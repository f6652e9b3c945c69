import { join } from "node:path";
import { emptyFolder, must, run } from "./tools.mjs";

/** The chart renders from its archive alone, with the images of the release by digest. */
export function checkChart({ folder, files, release, work, say }) {
  const chart = `muster-${release.version}.tgz`;
  if (!files.includes(chart)) return "the release has no chart";
  const helm = process.env.HELM ?? "helm";
  try {
    run(helm, ["version"]);
  } catch {
    return "no helm (HELM names one; deploy/kubernetes/check lint builds it)";
  }
  emptyFolder(work);
  const settings = ["publicUrl=https://muster.example.com", "database.host=postgres", "nats.url=nats://nats:4222"];
  const sets = settings.flatMap((each) => ["--set", each]);
  run(helm, ["lint", "--strict", join(folder, chart), ...sets], { cwd: work });
  const rendered = run(helm, ["template", "muster", join(folder, chart), ...sets], { cwd: work });
  const images = new Set([...rendered.matchAll(/^\s*(?:- )?image: "?([^"\s]+)"?$/gm)].map(([, image]) => image));
  for (const [service, digest] of Object.entries(release.images)) {
    // Those are of the compose file alone.
    if (service === "setup" || service === "nats") continue;
    must(images.has(`${release.registry}/${service}@${digest}`), `the chart does not run ${service} by its digest`);
  }
  say(`helm lint and template; ${images.size} images, those of Muster by digest`);
}
