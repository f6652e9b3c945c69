import { linkSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { dir, say } from "./client.mjs";

const kept = join(dir, "kept-logs");

/**
 * Keeps what every container logs, also after its pod ended and the kubelet removed the file: by a hard link to each
 * file.
 */
export function keepLogs() {
  mkdirSync(kept, { recursive: true });
  const paths = () => {
    try {
      return readdirSync(join(dir, "pods"), { recursive: true });
    } catch (error) {
      // A pod's folder was removed while it was read: the next check, half a second later, reads what is left.
      if (error.code !== "ENOENT") throw error;
      return [];
    }
  };
  const look = () => {
    for (const path of paths()) {
      const [pod, container, file] = path.split("/");
      if (!pod.startsWith("muster_") || !file?.endsWith(".log")) continue;
      try {
        const from = join(dir, "pods", path);
        linkSync(from, join(kept, `${pod.split("_")[1]} ${container} ${statSync(from).ino}`));
      } catch (error) {
        // The link exists already, or the file was removed since it was listed.
        if (error.code !== "EEXIST" && error.code !== "ENOENT") throw error;
      }
    }
  };
  look();
  setInterval(look, 500).unref();
}

/** The lines about these requests, each behind the name of its pod; a stack is left out. */
function linesOf(requestIds) {
  return readdirSync(kept).flatMap((name) =>
    readFileSync(join(kept, name), "utf8")
      .split("\n")
      .filter((line) => requestIds.some((id) => line.includes(id)))
      .map((line) => `${name.split(" ")[0]}: ${line.slice(0, 2_000).replaceAll(/"stack":"([^"\\]|\\.)*",?/g, "")}`),
  );
}

/**
 * What failed, each kind once with its count. Of the first requests that failed the answer is written out, with what
 * the containers that served it logged.
 */
export function kinds(failed) {
  for (const { kind, body, tookMs, at } of failed.slice(0, 10)) {
    say(`failed at ${at} after ${tookMs} ms: ${kind}: ${JSON.stringify(body)}`);
    for (const line of body?.requestId ? linesOf([body.requestId]) : []) console.log(`    ${line}`);
  }
  const counts = new Map();
  for (const { kind } of failed) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([each, count]) => `${each} × ${count}`).join("; ");
}
