import { lookup } from "node:dns/promises";
import fs from "node:fs";
import { type AgentIdentity, proxyFor } from "@muster/agent";
import { codeOf, messageOf } from "@muster/kit/agent";
import { EnvHttpProxyAgent, request } from "undici";
import { causeOf } from "../causes.ts";
import { type Config, readConfig } from "../config.ts";
import { readStored } from "../durable.ts";
import { diskError, exitCodes } from "../exit-codes.ts";
import { holderOf } from "../folder-lock.ts";
import { clockOffsetMaxSeconds } from "../hosts/host-status.ts";
import { pathsOf } from "../paths.ts";
import { certificates } from "../trust.ts";

/** `cure` null: all is well; else `exitCode` is that of a doctor who found it first. */
export type Finding = { name: string; text: string; cure: string | null; exitCode?: number };

const timeoutMs = 10_000;
const freeBytesMin = 500 * 1024 * 1024;

/** Looks for what keeps this machine offline. Returns 0 when it found nothing, else the code of its first finding. */
export async function doctor(file: string): Promise<number> {
  const findings = await examine(file);
  for (const { name, text, cure } of findings) {
    process.stdout.write(
      `${cure === null ? "ok  " : "FAIL"} ${name.padEnd(10)}${text}${cure ? `\n     cure: ${cure}` : ""}\n`,
    );
  }
  const first = findings.find(({ cure }) => cure !== null);
  return first === undefined ? exitCodes.ok : (first.exitCode ?? exitCodes.failed);
}

export async function examine(file: string): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(file);
  } catch (error) {
    return [{ name: "config", text: messageOf(error), cure: `correct ${file}`, exitCode: exitCodes.config }];
  }
  const { hostname } = new URL(config.url);
  const proxy = proxyFor(config.url) ?? "";
  return [
    { name: "config", text: file, cure: null },
    await nameFinding(hostname, proxy),
    { name: "proxy", text: proxy === "" ? "none" : withoutCredential(proxy), cure: null },
    ...(await platformFindings(config)),
    ...stateFindings(config),
  ];
}

async function nameFinding(hostname: string, proxy: string): Promise<Finding> {
  try {
    const { address } = await lookup(hostname);
    return { name: "dns", text: `${hostname} is ${address}`, cure: null };
  } catch (error) {
    const cure = proxy === "" ? `correct the "url", or the name server of this machine` : null;
    return { name: "dns", text: `${hostname}: ${codeOf(error)}`, cure, exitCode: exitCodes.unreachable };
  }
}

async function platformFindings(config: Config): Promise<Finding[]> {
  const connect = { ca: certificates(config), timeout: timeoutMs };
  const dispatcher = new EnvHttpProxyAgent({ connect, requestTls: connect });
  try {
    const { statusCode, headers, body } = await request(`${config.url}/install.sh`, {
      dispatcher,
      method: "HEAD",
      headersTimeout: timeoutMs,
    });
    await body.dump();
    const offsetMs = Date.now() - Date.parse(String(headers.date));
    const seconds = Math.round(offsetMs / 1000);
    const isOff = Math.abs(seconds) > clockOffsetMaxSeconds;
    return [
      {
        name: "tls",
        text: `${config.url} answers ${statusCode}`,
        ...(statusCode < 300 ? { cure: null } : findingOf(`status ${statusCode}`)),
      },
      {
        name: "clock",
        text: `${seconds} s off the platform's`,
        cure: isOff ? "set the clock, such as by NTP" : null,
        exitCode: exitCodes.clock,
      },
    ];
  } catch (error) {
    const [code, message] = [codeOf(error), messageOf(error)];
    return [{ name: "tls", text: `${config.url}: ${code || message}`, ...findingOf(code || "no_answer") }];
  } finally {
    await dispatcher.close();
  }
}

function findingOf(name: string): Pick<Finding, "cure" | "exitCode"> {
  const { cure, exitCode } = causeOf(name);
  return { cure: name === "ECONNREFUSED" ? "start the platform, or correct the port of the url" : cure, exitCode };
}

function stateFindings(config: Config): Finding[] {
  const paths = pathsOf(config);
  const identity = readStored<AgentIdentity>(paths.identity);
  const agent = holderOf(paths.agentLock);
  const watchdog = holderOf(paths.watchdogLock);
  const start = config.service
    ? "systemctl start muster-agent"
    : `${paths.links.watchdog.current}/muster-agent supervise`;
  return [
    diskFinding(config.stateFolder),
    diskFinding(config.programFolder),
    {
      name: "enrolled",
      text: identity?.token ? `device ${identity.agentId}` : "no",
      cure: identity?.token || agent ? null : "muster-agent enroll, as the user of the service or root",
      exitCode: exitCodes.keyRefused,
    },
    {
      name: "service",
      text: `watchdog ${watchdog ? "runs" : "does not run"}, agent ${agent ? "runs" : "does not run"}`,
      cure: agent && watchdog ? null : start,
    },
  ];
}

function diskFinding(folder: string): Finding {
  try {
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK);
    const { bavail, bsize } = fs.statfsSync(folder);
    const free = bavail * bsize;
    const text = `${folder} has ${Math.round(free / 1024 / 1024)} MiB left`;
    return {
      name: "disk",
      text,
      cure: free < freeBytesMin ? "make room: an update needs 500 MiB" : null,
      exitCode: exitCodes.disk,
    };
  } catch (error) {
    const cure = diskError(error)?.message.replace(/ \(.*/, "") ?? "run as root, or install again";
    return { name: "disk", text: `${folder}: ${messageOf(error)}`, cure, exitCode: exitCodes.disk };
  }
}

export function withoutCredential(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//***@");
}
